/**
 * Composition of a service: options in, a running identity provider out, in five phases.
 *
 * A phase is a file of `phases/`. A phase takes the phases before it, and returns what it created. Other files have the parts that several phases use:
 * - `settings`: the options and extensions,
 * - `additions`: what extensions add,
 * - `extension-context`, `extension-data` and `extension-work`: what extensions get.
 */
import { cibaFor, introspectScopesFor } from '../../extensions/index.js';
import { StoreAwayError, UnavailableError } from '../errors.js';
import { createMiddleware } from '../http/hosts.js';
import type { IdentityProviderOptions } from '../options/options.js';
import type { IdentityProvider } from './identity-provider.js';
import { openDirectory } from './phases/directory.js';
import { openExtensions } from './phases/extensions.js';
import { openProtocol } from './phases/protocol.js';
import { start } from './phases/start.js';
import { type OpenStores, openStores } from './phases/stores.js';
import { readSettings } from './settings.js';

/** Creates an identity provider in five phases. `on-first-use` loads this file, and documents the factory. */
export async function createIdentityProvider(input: IdentityProviderOptions): Promise<IdentityProvider> {
  const settings = await readSettings(input);
  const stores = await openStores(settings);
  try {
    const records = openDirectory(settings, stores);
    const endpoints = openProtocol(settings, stores, records);
    const extensions = openExtensions(settings, stores, records, endpoints);
    const { app, callback, servers, health } = await start(settings, stores, records, endpoints, extensions);

    const { directory } = records;
    const { protocol, keys } = endpoints;
    return {
      issuer: settings.options.issuer,
      directory,
      get provider() {
        return protocol.provider as never;
      },
      sessions: protocol.sessions,
      events: directory.events,
      keys: { rotate: keys.rotate },
      tenant: (tid) => directory.forTenant(tid),
      introspectScopes: introspectScopesFor(extensions.contextOf('scope-introspection')),
      ciba: cibaFor(extensions.contextOf('ciba')),
      middleware: () => createMiddleware(app),
      callback: () => callback,
      listen: (port, host) => servers.listen(port, host),
      health,
      async close() {
        await servers.close();
        await stores.closing.close();
        await Promise.all([stores.artifacts.close(), stores.store.close()]);
      },
    };
  } catch (error) {
    await stores.closing.close();
    throw startError(error, stores);
  }
}

/** Returns the error with the name of the store for which a start failed. */
function startError(error: unknown, { store }: OpenStores): unknown {
  if (!(error instanceof UnavailableError)) return error;
  const { store: name } = error.details;
  return new StoreAwayError(name === store.name ? 'directory' : 'artifact', String(name), error.cause);
}
