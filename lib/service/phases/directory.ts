/** The second phase: the directory, and the rows of extensions. */
import { identityScopes } from '../../claims/declarations.js';
import { clientRulesOf } from '../../contract/assembly/contributions.js';
import {
  createAskedInSignIn,
  createDirectory,
  createPasswords,
  createRecentCutoffs,
  type Directory,
  type ExtensionData,
  type InputProblem,
  type InvitationRules,
  linkPages,
  type RecoveryRules,
} from '../../directory/index.js';
import type { ResolvedOptions } from '../../options/defaults.js';
import { OWN_SECRET_LENGTH } from '../../options/insecure.js';
import type { Client } from '../../store/records/records.js';
import { createRowsOfExtensions, extensionEventSources } from '../extension-data.js';
import { type Late, late } from '../late.js';
import type { Settings } from '../settings.js';
import type { OpenStores } from './stores.js';

export interface OpenDirectory {
  readonly directory: Directory;
  readonly extensionRows: ExtensionData;
  /** The protocol's check of the metadata of clients, which the protocol gives. */
  readonly schemaOfClients: Late<(client: Client) => readonly InputProblem[]>;
}

export function openDirectory(settings: Settings, stores: OpenStores): OpenDirectory {
  const { options, extensions, additions, claims, fetchProblem, attributes, logger } = settings;
  const { artifacts, store, caches, sealer, now, lease, closing } = stores;
  const schemaOfClients = late<(client: Client) => readonly InputProblem[]>("the protocol's rules of client metadata");
  const extensionRows = createRowsOfExtensions(extensions, { store, caches, now });
  const directory = createDirectory({
    store,
    caches,
    sealer,
    hasher: createPasswords(options.passwords),
    passwordRules: options.passwords,
    now,
    recentCutoffs: createRecentCutoffs(artifacts),
    askedInSignIn: createAskedInSignIn(artifacts),
    lease,
    logger,
    issuer: options.issuer,
    clientRules: {
      ...clientRulesOf(options, extensions, fetchProblem),
      problemsOfSchema: (client) => schemaOfClients.value(client),
    },
    identityScopes: identityScopes(claims.scopes.keys()),
    means: additions.offers.means,
    attributes,
    ...(options.impersonation && { privileged: [options.impersonation.permission] }),
    invitations: invitationRulesOf(options),
    recovery: recoveryRulesOf(options),
    ownApi: additions.ownApi,
    signInHistory: { ...options.signInHistory, address: options.sessions.address },
    eventRetention: options.lifetimes.events,
    eventSources: extensionEventSources(extensions),
    erase: extensionRows.hasErasure ? extensionRows.erase : undefined,
    removeRows: extensionRows.removeTenant,
    ...(options.production ? { ownSecretLength: OWN_SECRET_LENGTH } : {}),
  });
  directory.onPersonExport(extensionRows.export);
  closing.add(() => directory.close());
  return { directory, extensionRows, schemaOfClients };
}

const invitationRulesOf = ({ issuer, paths, lifetimes, mail, personalTenant }: ResolvedOptions): InvitationRules => ({
  hasMail: mail !== undefined,
  personalTenant,
  lifetimeSeconds: lifetimes.invitation,
  urlOf: linkPages(issuer + paths.own).invitation,
});

function recoveryRulesOf({ issuer, paths, lifetimes }: ResolvedOptions): RecoveryRules {
  const pages = linkPages(issuer + paths.own);
  return {
    resetSeconds: lifetimes.passwordReset,
    resetUrlOf: pages.reset,
    proofSeconds: lifetimes.emailProof,
    proofUrlOf: pages.proof,
    stopUrlOf: pages.stop,
  };
}
