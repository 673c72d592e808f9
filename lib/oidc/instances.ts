/** An oidc-provider for each set of signing keys, because oidc-provider gets its keys when it is created. All other parts are created once, in `rooms`. */
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import { levelsFor, offeredLevels, reachedLevel, requestedAcr } from '../acr-values.js';
import { type LaterProofs, sessionOf, startSignIn, strengthenSignIn } from './accounts/login-context.js';
import { watchFailures } from './authorize/failures.js';
import { noteFeatures } from './authorize/parameters.js';
import { completeResponse } from './authorize/response.js';
import type { SettleFailure } from './clients/refusals.js';
import type { ClientRefusals } from './clients/refused-clients.js';
import { type ConfigurationParts, createConfiguration, routes } from './configuration.js';
import type { OidcParts } from './context.js';
import { createDocuments, type Documents } from './discovery.js';
import type { SigningKeys } from './keys/keys.js';
import type { ExtensionGrants } from './tokens/grants/extension-grants.js';
import { createHookedProvider, onAuthorizationResponse, type ProviderHooks, seal } from './upstream/provider.js';

/** An oidc-provider, its signing keys, and the documents that it publishes. */
export interface Instance {
  readonly provider: Provider;
  readonly keys: SigningKeys;
  readonly documents: Documents;
  /** Paths of the endpoints by name, including endpoints that extensions add. */
  readonly routes: Readonly<Record<string, string>>;
}

export interface Instances {
  /** Returns the instance for a new request. */
  current(): Instance;
  /** Returns the instance on which a request began. The request also ends on this instance. */
  of(ctx: object): Instance;
  /** Makes an instance the current one. */
  use(instance: Instance): void;
}

export interface InstanceParts extends ConfigurationParts {
  readonly parts: OidcParts;
  readonly hooks: Omit<ProviderHooks, 'acr'>;
  readonly clientRefusals: ClientRefusals;
  readonly settleFailure: SettleFailure;
  readonly extensionGrants: ExtensionGrants;
  /** Members that extensions add to the discovery document. */
  readonly discovery: () => Readonly<Record<string, unknown>>;
}

export function createInstances(): Instances {
  const all = new WeakMap<object, Instance>();
  let latest: Instance | undefined;
  const current = (): Instance => {
    if (!latest) throw new TypeError('the service has no signing keys yet');
    return latest;
  };
  return {
    current,
    of: (ctx) => all.get((ctx as Pick<Context, 'app'>).app) ?? current(),
    use(instance) {
      all.set(instance.provider, instance);
      latest = instance;
    },
  };
}

export function createInstance(
  { parts, hooks, clientRefusals, settleFailure, extensionGrants, discovery, ...used }: InstanceParts,
  keys: SigningKeys,
): Instance {
  const { options } = parts;
  const configuration = createConfiguration(parts, keys, used);
  // A host can add its own levels by `configure`.
  const acrValues = new Set(configuration.acrValues);
  const levels = offeredLevels(parts.offers.serves('mfa')).filter((level) => acrValues.has(level));
  const provider = createHookedProvider(options.issuer, configuration, {
    ...hooks,
    acr: (ctx) => reachedLevel(ctx.oidc.session?.amr, levelsFor(requestedAcr(ctx.oidc.params ?? {}), levels)),
  });
  noteFeatures(provider, configuration);
  for (const [name, type] of parts.grantTypes)
    provider.registerGrantType(name, extensionGrants.handlerOfProvider(name, type, levels) as never, [...type().parameters]);
  watchFailures(provider, parts, settleFailure, clientRefusals);
  provider.on('interaction.ended', (ctx) => {
    const { login, proofs } = (ctx.oidc.result ?? {}) as { login?: { sub?: string; idp?: string }; proofs?: LaterProofs };
    if (login) startSignIn(ctx, options, login as never);
    if (proofs) strengthenSignIn(sessionOf(ctx), proofs);
  });
  onAuthorizationResponse(provider, completeResponse);
  provider.on('end_session.success', (ctx) => used.logout.endGrants(ctx));

  options.onProvider?.(provider as never);
  seal(provider);
  const all = { ...(configuration.routes as Instance['routes']), ...routes };
  return { provider, keys, routes: all, documents: createDocuments(parts, used.scopes, routes, discovery()) };
}
