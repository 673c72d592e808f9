/** The fourth phase: the contexts of extensions, with all parts of the service that an extension may use. */
import type { ExtensionPages } from '../../contract/context/pages.js';
import type { ContextOf } from '../../contract/extension-context.js';
import type { Directory } from '../../directory/index.js';
import type { Guarded } from '../../http/clients/bearer.js';
import { createExtensionContexts } from '../extension-context.js';
import { createRecords } from '../extension-data.js';
import { createExtensionWork, type RunningWork } from '../extension-work.js';
import { createMail } from '../mail.js';
import type { Settings } from '../settings.js';
import type { OpenDirectory } from './directory.js';
import type { OpenProtocol } from './protocol.js';
import type { OpenStores } from './stores.js';

export interface OpenExtensions {
  readonly contextOf: ContextOf;
  readonly work: RunningWork;
  /** Guards that extensions put before their routes. */
  readonly guards: readonly Guarded[];
}

export function openExtensions(
  settings: Settings,
  stores: OpenStores,
  { directory, extensionRows }: OpenDirectory,
  { protocol, keys, limits, csrf, fetch }: OpenProtocol,
): OpenExtensions {
  const { options, extensions, additions, claims, fetchProblem, attributes, logger } = settings;
  const { artifacts, now, sealer, node } = stores;
  const brandingOf = createBrandingOf(directory);
  const work = createExtensionWork({ extensions, directory, artifacts, sealer, node, logger });
  const mailParts = {
    limits: { account: limits.limit('accountMails'), anybody: limits.limit('anybodysMails'), frequent: limits.limit('frequentMails') },
    write: additions.writeLetter,
    brandingOf,
    logger,
  };
  const mail = options.mail && createMail({ options: options.mail, ...mailParts });
  const guards: Guarded[] = [];
  const contextOf = createExtensionContexts({
    options,
    protocol,
    directory,
    claims,
    attributes,
    logger,
    now,
    extensions,
    operations: additions.operations,
    showPage: additions.showPage,
    guard: (guarded) => void guards.push(guarded),
    http: { csrf, fetch, fetchProblem },
    brandingOf,
    records: createRecords({ extensions, rows: extensionRows, artifacts, now, sealer, directory }),
    work: {
      deliver: work.deliver,
      emit: work.emit,
      ...(mail && { mail }),
    },
    keys: { rotate: keys.rotate, list: keys.list, seal: work.seal },
    limits,
  });
  additions.giveContexts(contextOf);
  return { contextOf, work, guards };
}

const createBrandingOf =
  ({ tenants, clients }: Directory): ExtensionPages['brandingOf'] =>
  async (tid, clientId) => {
    const [tenant, client] = await Promise.all([tenants.get(tid), clientId === undefined ? undefined : clients.get(clientId)]);
    return { ...(tenant && { tenant }), ...(client?.status === 'active' && { client }) };
  };
