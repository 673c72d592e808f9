import type { Attribution } from '../events.js';
import { present } from '../present.js';
import type { Row } from '../store/directory-store.js';
import type { HealthProblem } from '../store/outages/health.js';
import { isAdminScope } from '../store/records/admin-scopes.js';
import type { CheckedCollection } from '../store/records/checked-directory.js';
import { outboxes } from '../store/records/collections.js';
import { type DamagedRow, readablePartOf, withDamaged } from '../store/records/readable-part.js';
import { nodeTime } from '../times/node-time.js';
import { createAccountEvents } from './accounts/account-events.js';
import type { Accounts } from './accounts/accounts.js';
import { nothingAsked } from './accounts/asked-in-sign-in.js';
import { createCredentials } from './accounts/credentials.js';
import { createAccounts } from './accounts/find-accounts.js';
import { createLinking, createLinks } from './accounts/linking.js';
import { createAccountMeans, type MeansSource } from './accounts/means.js';
import { createOwnPasswords } from './accounts/own-passwords.js';
import { createPasswordChanges } from './accounts/password-changes.js';
import { createPrivileges } from './accounts/privileges.js';
import { unknownCutoffs } from './accounts/recent-cutoffs.js';
import { createRegistration } from './accounts/registration.js';
import { createSignInCutoffs, type SignInCutoffs, type SignIns } from './accounts/sign-in-cutoff.js';
import { createSignInHistory, createSignInSweep } from './accounts/sign-in-history.js';
import { createWaysIn } from './accounts/ways-in.js';
import { createApiResources, createApiScopes } from './clients/api-resources.js';
import { createAuthenticate } from './clients/authenticate.js';
import { existingScopes } from './clients/client-scopes.js';
import { createClients, createPkceMethods } from './clients/clients.js';
import { completeCutoff, createConsents, type RaiseOfClient } from './clients/consents.js';
import { createSharedIds } from './clients/shared-ids.js';
import { type Collections, type DirectoryContext, openedCollections, type Vouching } from './context.js';
import { createPasswordRules } from './credentials/password-rules.js';
import { createPasswords } from './credentials/passwords.js';
import type { Directory, DirectoryOptions, RecordName, TenantDirectory, UnreadableRecord } from './directory.js';
import { createGroups } from './groups/groups.js';
import { createPermissions } from './groups/permissions.js';
import { createIdpNames } from './idp-names.js';
import { createAcceptance } from './invitations/acceptance.js';
import { createInvitations } from './invitations/create-invitations.js';
import { createInvitationDeliveries } from './invitations/invitation-deliveries.js';
import type { InvitationParts } from './invitations/invitations.js';
import { createNationalIds } from './keyed-hashes/national-ids.js';
import { createRemovedUserIds } from './keyed-hashes/removed-user-ids.js';
import { createKeyCompletion } from './lists/key-completion.js';
import { createMailedLinks, linkPages } from './mailed-links.js';
import { attributedCollections, checkAttribution } from './outbox/attribution.js';
import { createDeliveries, type Deliveries } from './outbox/deliveries.js';
import { createEventFeed } from './outbox/event-feed.js';
import { createListeners } from './outbox/event-listeners.js';
import { createEventLog } from './outbox/event-log.js';
import { createEventTrials } from './outbox/event-trials.js';
import { createOutbox, type Source } from './outbox/outbox.js';
import { createPersonExports, type PersonExports } from './persons/person-export.js';
import { createPersons } from './persons/persons.js';
import { createUsers } from './persons/users.js';
import { createMissingReferences, createRowProblems } from './record-problems.js';
import { createEmailProofs } from './recovery/email-proofs.js';
import { createPasswordResets } from './recovery/password-resets.js';
import { createForget } from './removal/forgetting.js';
import { createPersonRemovals } from './removal/person-removal.js';
import { createTenantRemoval } from './removal/tenant-removal.js';
import { createSeedLedger } from './seed-ledger.js';
import { createPolicyWatch, passwordsAlone } from './tenants/sign-in-policy.js';
import { createSubsidiaries } from './tenants/subsidiaries.js';
import { createTenants } from './tenants/tenants.js';

/** Creates the directory in phases. Each phase takes the values of the phases before it. */
export function createDirectory(options: DirectoryOptions): Directory {
  const { store, issuer } = options;
  const collections = openedCollections(store);
  const background = createBackground(options, collections);
  const signIns = createCutoffs(options, background);
  const context = createContext(options, collections, { ...background, signIns });
  const accountServices = createAccountServices(options, context, background.deliveries);
  const { personRemovalOver, tenantRemoval } = createRemovals(options, context, { ...background, signIns });
  nudgeAtWork(options, background.outbox, tenantRemoval);
  const { invitationParts, passwordResets, emailProofs } = createLinkServices(options, context, { ...background, ...accountServices });
  const history = createHistory(options, context, accountServices.accounts);
  const personExports = createPersonExports({ ...context, ...history, emailProofs });
  const missingReferences = createMissingReferences(context);
  const { credentials, ownPasswords, privileges, accounts, policies, meansSources, waysIn } = accountServices;
  const { trials, outbox, deliveries, keyCompletion, events, eventFeed } = background;
  const works = [keyCompletion, tenantRemoval, history.signInSweep, outbox, deliveries];
  const shared = {
    issuer,
    apiScopes: createApiScopes(context),
    pkceMethods: createPkceMethods(context),
    accounts,
    privileges,
    waysIn,
    policies,
    idpNames: context.idpNames,
    removedUserIds: context.removedUserIds,
    nationalIds: context.nationalIds,
    deliveries,
    seedLedger: createSeedLedger(context),
    existingScopes: () => existingScopes(context),
    onSignInCutoff: (ends: SignIns) =>
      signIns.on(ends, (cutoff) => completeCutoff(collections, raiseOfClient(context, accounts, issuer), cutoff)),
    onPersonExport: personExports.on,
    credentials,
    onInvitationDue: invitationParts.invitationDeliveries.onDue,
    ownPasswords,
    passwordResets,
    emailProofs,
    events,
    eventFeed,
    outbox,
    keyCompletion,
    tenantRemoval,
    ...history,
    problemOf: createRowProblems(context, missingReferences.of),
    unreadable: (name: RecordName) => unreadableRecord(store, missingReferences, name),
    problems: () => [...trials.problems(), ...works.flatMap((work): readonly HealthProblem[] => work.problems())],
    async close() {
      for (const work of works) await work.close();
    },
  };
  const parts = {
    issuer,
    credentials,
    privileges,
    accounts,
    meansSources,
    personRemovalOver,
    exportOf: personExports.of,
    ...invitationParts,
  };

  const directoryOf = (
    by: Attribution,
    vouching: Vouching,
    over: Pick<DirectoryContext, 'collections' | 'caches'> = context,
  ): Directory => ({
    ...shared,
    ...createServices({ ...context, ...over, by, vouching, collections: attributedCollections(over.collections, by) }, parts),
    as(given, vouchedBy = vouching) {
      checkAttribution(given);
      return directoryOf({ ...by, ...given }, vouchedBy, over);
    },
    overDamaged: (row) => directoryOf(by, vouching, showing(context, row)),
  });
  return directoryOf({}, context.vouching);
}

/** Starts background work when a write of this node or another node leaves it. */
function nudgeAtWork(
  { store, caches }: DirectoryOptions,
  outbox: { nudge(collection: string): void },
  tenantRemoval: { nudge(): void },
): void {
  const nudge = (collection: string): void => {
    outbox.nudge(collection);
    if (collection === 'removals') tenantRemoval.nudge();
  };
  store.onWork(nudge);
  caches.onWork(nudge);
}

const leaseOf =
  ({ lease }: DirectoryOptions, work: string) =>
  (milliseconds: number) =>
    lease(work, undefined, milliseconds);

/** Creates the background work on stored rows: events, deliveries, and the completion of the members that lists need. */
function createBackground(options: DirectoryOptions, collections: Collections) {
  const { store, logger, issuer, backOff, now = nodeTime, eventSources = [], eventRetention = Number.POSITIVE_INFINITY } = options;
  const records = collections.events;
  const events = createListeners();
  const trials = createEventTrials({ records, listeners: events, issuer, logger, now, ...present({ backOff }) });
  const log = createEventLog(records, now);
  const sources = new Map([...outboxes, ...eventSources].map((name) => [name, store.collection<Source>(name).withRemoved()]));
  const outbox = createOutbox({ sources, log, trials, lease: leaseOf(options, 'events'), logger });
  return {
    events,
    trials,
    outbox,
    eventFeed: createEventFeed({ now, records, log, issuer, retention: eventRetention, waiting: () => outbox.waiting() }),
    keyCompletion: createKeyCompletion({ collections, lease: leaseOf(options, 'keys of records'), logger }),
    deliveries: createDeliveries(collections.deliveries, { logger, now }),
  };
}

type Background = ReturnType<typeof createBackground>;

const createCutoffs = (
  { caches, recentCutoffs: recent = unknownCutoffs, now = nodeTime }: DirectoryOptions,
  { deliveries }: Pick<Background, 'deliveries'>,
): SignInCutoffs => createSignInCutoffs({ deliveries, caches, recent, now });

function createContext(
  options: DirectoryOptions,
  collections: Collections,
  { keyCompletion, signIns }: Pick<Background, 'keyCompletion'> & { readonly signIns: SignInCutoffs },
): DirectoryContext {
  const { caches, sealer, lease, logger, identityScopes, ownApi, privileged = [] } = options;
  const { now = nodeTime, ownSecretLength = 1, clientRules = { ownMetadata: false }, means = passwordsAlone } = options;
  const removedUserIds = createRemovedUserIds({ rows: collections.removedUsers, sealer, logger });
  return {
    collections,
    caches,
    sealer,
    now,
    withCutoff: signIns.withCutoff,
    cutoffTime: signIns.cutoffTime,
    by: {},
    vouching: { by: 'operator' },
    isPrivileged: (permissionId) => isAdminScope(permissionId) || privileged.includes(permissionId),
    ownSecretLength,
    ...clientRules,
    identityScopes,
    ownApi,
    means,
    attributes: options.attributes,
    isKeyed: (collection) => keyCompletion.isKeyed(collection),
    idpNames: createIdpNames({ collections, means }, lease),
    sharedIds: createSharedIds({ collections, removedUserIds }, lease),
    removedUserIds,
    nationalIds: createNationalIds({ rows: collections.upkeep, sealer, logger }),
  };
}

/** Creates the services for accounts of all tenants. */
function createAccountServices(
  {
    logger,
    hasher = createPasswords(),
    passwordRules = {},
    privileged,
    recentCutoffs = unknownCutoffs,
    askedInSignIn: asked = nothingAsked,
  }: DirectoryOptions,
  context: DirectoryContext,
  deliveries: Deliveries,
) {
  const policies = createPolicyWatch(context, logger);
  const accounts = createAccounts(context, createTenants(context), policies, recentCutoffs);
  const changes = createPasswordChanges(context, deliveries);
  const { change } = changes;
  const problemOf = createPasswordRules(passwordRules, logger);
  const credentials = createCredentials(context, { accounts, passwords: hasher, problemOf, change, asked });
  const privileges = createPrivileges(context, privileged);
  const meansSources: MeansSource[] = [];
  const means = createAccountMeans(context, { privileges, accounts, sources: meansSources });
  return {
    policies,
    accounts,
    change,
    credentials,
    ownPasswords: createOwnPasswords({ context, credentials, changes }),
    privileges,
    meansSources,
    means,
    waysIn: createWaysIn(context, { accounts, means, sources: [] }),
  };
}

type AccountServices = ReturnType<typeof createAccountServices>;

function createRemovals(
  options: DirectoryOptions,
  context: DirectoryContext,
  { deliveries, signIns }: Pick<Background, 'deliveries'> & { readonly signIns: SignInCutoffs },
) {
  const { logger, settledMs, erase, removeRows } = options;
  const forget = createForget(context.collections);
  return {
    personRemovalOver: createPersonRemovals({ context, deliveries, forget, erase }),
    tenantRemoval: createTenantRemoval({
      context,
      forget,
      endLinks: createLinks(context).endAll,
      endSignIns: (oid) => signIns.cutOff({ oid }),
      removeRows: async (tid) => removeRows?.(tid),
      settledMs,
      lease: leaseOf(options, 'tenant removals'),
      logger,
    }),
  };
}

/** Creates the history of sign-ins, and the sweep that removes expired sign-ins. */
function createHistory(options: DirectoryOptions, context: DirectoryContext, accounts: Accounts) {
  const { issuer, logger, signInHistory: rules = { days: 0, entries: 0 } } = options;
  const { persons, signIns: rows } = context.collections;
  const { now } = context;
  return {
    signInHistory: createSignInHistory({ rows, persons, accounts, events: createAccountEvents(context, issuer), rules, now }),
    signInSweep: createSignInSweep({ rows, rules, now, lease: leaseOf(options, 'old sign-ins'), logger }),
  };
}

/** Creates the services behind mailed links: of invitations, of password resets, and of proofs of addresses. */
function createLinkServices(
  { sealer, issuer, ...options }: DirectoryOptions,
  context: DirectoryContext,
  services: Pick<Background, 'deliveries'> & Pick<AccountServices, 'accounts' | 'credentials' | 'change' | 'means'>,
) {
  const { deliveries, accounts, credentials, change, means } = services;
  const pages = linkPages(`${issuer}/idp`);
  const rules = options.invitations ?? { hasMail: false, lifetimeSeconds: 86_400, urlOf: pages.invitation };
  const recovery = options.recovery ?? {
    resetSeconds: 3_600,
    resetUrlOf: pages.reset,
    proofSeconds: 86_400,
    proofUrlOf: pages.proof,
    stopUrlOf: pages.stop,
  };
  const links = createMailedLinks(sealer, 'invitation link');
  return {
    invitationParts: {
      links,
      rules,
      invitationDeliveries: createInvitationDeliveries({ context, deliveries, credentials, links, urlOf: rules.urlOf }),
    },
    passwordResets: createPasswordResets({
      context,
      accounts,
      credentials,
      change,
      means,
      links: createMailedLinks(sealer, 'password reset link'),
      lifetimeSeconds: recovery.resetSeconds,
      urlOf: recovery.resetUrlOf,
    }),
    emailProofs: createEmailProofs({
      context,
      accounts,
      credentials,
      links: createMailedLinks(sealer, 'email proof link'),
      stopLinks: createMailedLinks(sealer, 'email stop link'),
      lifetimeSeconds: recovery.proofSeconds,
      urlOf: recovery.proofUrlOf,
      stopUrlOf: recovery.stopUrlOf,
    }),
  };
}

async function unreadableRecord(
  store: DirectoryOptions['store'],
  missingReferences: ReturnType<typeof createMissingReferences>,
  { collection, id, index }: RecordName,
): Promise<UnreadableRecord | undefined> {
  const rows = store.collection(collection);
  const all = rows.withUnreadable();
  const leftOutByReference = async (row: Row) => {
    const path = await missingReferences.hiding(collection, row);
    return path === undefined ? undefined : { id: row.id, tid: (row as Row & { readonly tid?: unknown }).tid, path };
  };
  const row = index === undefined ? await all.get(id) : (await all.find({ [index]: [id] }, { limit: 1 }))[0];
  const leftOut = row && ((await rows.unreadable(row.id)) ?? (await leftOutByReference(row)));
  return leftOut && { ...leftOut, malformed: readablePartOf(row, {}, all.wrongPath)?.malformed ?? [leftOut.path] };
}

/** Returns the collections with the readable part of a damaged row in place of the row, without caches. */
function showing({ collections, caches }: DirectoryContext, row: DamagedRow): Pick<DirectoryContext, 'collections' | 'caches'> {
  const name = row.collection as keyof Collections;
  const rows = withDamaged(collections[name] as unknown as CheckedCollection<Row>, row);
  return {
    collections: { ...collections, [name]: rows },
    caches: {
      ...caches,
      rows: <R extends Row>(collection: string) =>
        collection === name
          ? { get: (id: string) => rows.get(id) as Promise<R | undefined>, peek: () => undefined }
          : caches.rows<R>(collection),
    },
  };
}

const raiseOfClient = (context: DirectoryContext, accounts: Accounts, issuer: string): RaiseOfClient => {
  const events = createAccountEvents(context, issuer);
  return async (type, { oid, clientId, by }, cause) => {
    const account = await accounts.findByOid(oid);
    if (account) await events.raise(type, account, { AggregateId: oid, ClientId: clientId }, cause, by);
  };
};

interface ServiceParts
  extends Pick<Directory, 'issuer' | 'credentials' | 'privileges' | 'accounts'>,
    Omit<InvitationParts, 'personsOf' | 'clients'> {
  readonly meansSources: MeansSource[];
  readonly personRemovalOver: ReturnType<typeof createPersonRemovals>;
  readonly exportOf: PersonExports['of'];
}

/**
 * Creates the services whose writes raise events. The services have no separate caches, because each request has a separate set of
 * services.
 */
function createServices(context: DirectoryContext, parts: ServiceParts) {
  const { issuer, credentials, privileges, accounts, meansSources, personRemovalOver, exportOf, ...ofInvitations } = parts;
  const tenants = createTenants(context);
  const permissions = createPermissions(context);
  const clients = createClients(context);
  const apiResources = createApiResources(context);
  const links = createLinks(context);
  const { erase, removeUser } = personRemovalOver(context);
  const means = createAccountMeans(context, { privileges, accounts, sources: meansSources });
  const accountEvents = createAccountEvents(context, issuer);
  return {
    means,
    tenants,
    permissions,
    clients,
    apiResources,
    authenticate: createAuthenticate(clients, apiResources, context.now),
    consents: createConsents(context, {
      covers: async (vouchedBy, userId) => {
        const account = await accounts.findByOid(userId);
        return account !== undefined && means.open(vouchedBy, account.person);
      },
      raise: raiseOfClient(context, accounts, issuer),
    }),
    accountEvents,
    acceptance: createAcceptance({ context, tenants, credentials, means, ...ofInvitations }),
    forTenant(tid: string): TenantDirectory {
      const groups = createGroups(context, tenants, permissions, tid);
      const subsidiaries = createSubsidiaries(context, tenants, tid);
      const personsOf = (over: DirectoryContext) => createPersons(over, { tenants, groups, subsidiaries, erase, exportOf }, tid);
      const persons = personsOf(context);
      const users = createUsers(context, { groups, removeUser }, tid);
      return {
        groups,
        subsidiaries,
        persons,
        registration: createRegistration({ tenants, persons, users, credentials, means: context.means }, tid),
        users,
        credentials: credentials.forTenant(tid),
        linking: createLinking(links, tid),
        invitations: createInvitations(context, { personsOf, clients, ...ofInvitations }, tid),
      };
    },
  };
}
