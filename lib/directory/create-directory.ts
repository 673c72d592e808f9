import type { Attribution } from '../events.js';
import type { Logger } from '../logger.js';
import type { Keyring } from '../store/keyring.js';
import type { CheckedDirectory } from '../store/records/checked-directory.js';
import { outboxes } from '../store/records/collections.js';
import type { ApiResource } from '../store/records/records.js';
import { type AccountEvents, createAccountEvents } from './accounts/account-events.js';
import type { Accounts } from './accounts/accounts.js';
import { type Credentials, createCredentials, type TenantCredentials } from './accounts/credentials.js';
import { createAccounts } from './accounts/find-accounts.js';
import { createLinking, createLinks, type Linking } from './accounts/linking.js';
import { createPasswordChanges } from './accounts/password-changes.js';
import { createRegistration, type Registration } from './accounts/registration.js';
import { createSignInCutoffs, createWithCutoff, type OnSignInCutoff } from './accounts/sign-in-cutoff.js';
import { type ApiResources, type ApiScopes, createApiResources, createApiScopes } from './clients/api-resources.js';
import { type Authenticate, createAuthenticate } from './clients/authenticate.js';
import { existingScopes } from './clients/client-scopes.js';
import { type Clients, createClients, createPkceMethods } from './clients/clients.js';
import { type Consents, createConsents } from './clients/consents.js';
import {
  type ClientRules,
  type DirectoryContext,
  type ForgottenPerson,
  openedCollections,
  type Privileges,
  type SignInMeans,
} from './context.js';
import { createPasswordRules, type PasswordRulesOptions } from './credentials/password-rules.js';
import { createPasswords, type Passwords } from './credentials/passwords.js';
import { createGroups, type Groups } from './groups/groups.js';
import { createPermissions, type Permissions } from './groups/permissions.js';
import { createPrivileges } from './groups/privileges.js';
import { createIdpNames, type IdpNames } from './idp-names.js';
import { type Acceptance, createAcceptance } from './invitations/acceptance.js';
import { createInvitations } from './invitations/create-invitations.js';
import type { InvitationParts, InvitationRules, Invitations } from './invitations/invitations.js';
import { createSettling, type OnInvitationDue } from './invitations/settling.js';
import { createKeyCompletion, type KeyCompletion } from './lists/key-completion.js';
import { createMailedLinks, linkPages } from './mailed-links.js';
import { attributedCollections, checkAttribution } from './outbox/attribution.js';
import { createDeliveries, type Deliveries } from './outbox/deliveries.js';
import { createEventFeed, type EventFeed } from './outbox/event-feed.js';
import { createListeners, type Events } from './outbox/event-listeners.js';
import { createEventLog } from './outbox/event-log.js';
import { createEventTrials, type EventTrials } from './outbox/event-trials.js';
import { createOutbox, type Outbox, type Source } from './outbox/outbox.js';
import { createPersonExports, type OnPersonExport, type PersonExports } from './persons/person-export.js';
import { createPersons, type Persons } from './persons/persons.js';
import { createUsers, type Users } from './persons/users.js';
import { createEmailProofs, type EmailProofs } from './recovery/email-proofs.js';
import { createPasswordResets, type PasswordResets } from './recovery/password-resets.js';
import { createForget } from './removal/forgetting.js';
import { createPersonRemovals } from './removal/person-removal.js';
import { createTenantRemoval, type TenantRemoval } from './removal/tenant-removal.js';
import { createSeedLedger, type SeedLedger } from './seed-ledger.js';
import { createPolicyWatch, type PolicyWatch, passwordsAlone } from './tenants/sign-in-policy.js';
import { createSubsidiaries, type Subsidiaries } from './tenants/subsidiaries.js';
import { createTenants, type Tenants } from './tenants/tenants.js';

export interface DirectoryOptions {
  /** Opened, with the collections of `lib/store/records/collections.ts`. */
  readonly store: CheckedDirectory;
  readonly caches: DirectoryContext['caches'];
  readonly keyring: Keyring;
  /** @default scrypt */
  readonly hasher?: Passwords;
  /** Passwords that nobody may choose. @default the service's own rules */
  readonly passwordRules?: PasswordRulesOptions;
  /** Takes or renews the right to a piece of work, or gives it back (0 ms); false while another holder has it. @param holder by default this node */
  readonly lease: (work: string, holder?: string, ms?: number) => Promise<boolean>;
  /** The time that all nodes share, in milliseconds since the epoch. @default this process's */
  readonly now?: () => number;
  readonly logger: Logger;
  /** The `source` of events. */
  readonly issuer: string;
  /** Milliseconds before a listener's second attempt, third …; @default 1, 5, 25 and 125 seconds */
  readonly backOff?: readonly number[];
  /** Seconds that events are kept. @default for good */
  readonly eventRetention?: number;
  /** Characters of a secret that a host brings for a client or an API resource, at least. @default 1 */
  readonly ownSecretLength?: number;
  /** Scopes of the protocol and of all claim sets. */
  readonly identityScopes: ReadonlySet<string>;
  /** The API resource of the service itself. It is not asked for before the first request or seed. @default none */
  readonly ownApi?: () => ApiResource;
  /** Collections of others whose rows have events in them. */
  readonly eventSources?: readonly string[];
  /** Erases what others keep of a person who is erased, or of a user who is removed; called until it succeeds. */
  readonly erase?: ((person: ForgottenPerson) => Promise<void>) | undefined;
  /** Milliseconds after which no request still writes to a tenant that it found before the removal. @default 5000 */
  readonly settledMs?: number;
  /** Removes what others keep of a tenant; called until it succeeds. */
  readonly removeRows?: (tid: string) => Promise<void>;
  /** What clients may be registered with beyond the service's own. @default nothing */
  readonly clientRules?: ClientRules;
  /** What there is for invitations. @default no mail, no personal accounts, 24 hours, and links below the issuer */
  readonly invitations?: InvitationRules;
  /** Links that are mailed. @default an hour for a reset, a day for a proof, below the issuer */
  readonly recovery?: RecoveryRules;
  /** What people can prove. @default passwords, and no second factor */
  readonly means?: SignInMeans;
  /** Permissions that count as those of the admin API do. @default none */
  readonly privileged?: readonly string[];
}

/** What the options say of links that reset a password, and of links that prove an address. */
export interface RecoveryRules {
  readonly resetSeconds: number;
  readonly resetUrlOf: (token: string) => string;
  readonly proofSeconds: number;
  readonly proofUrlOf: (token: string) => string;
}

/** Services bound to one tenant. To them a record of another tenant does not exist. */
export interface TenantDirectory {
  readonly persons: Persons;
  readonly users: Users;
  readonly groups: Groups;
  readonly subsidiaries: Subsidiaries;
  readonly linking: Linking;
  readonly registration: Registration;
  readonly credentials: TenantCredentials;
  readonly invitations: Invitations;
}

/** The durable records and the rules over them. */
export interface Directory {
  readonly issuer: string;
  readonly tenants: Tenants;
  readonly permissions: Permissions;
  readonly clients: Clients;
  readonly apiResources: ApiResources;
  readonly authenticate: Authenticate;
  /** A promise only if they are not at hand. */
  apiScopes(): ApiScopes | Promise<ApiScopes>;
  /** Code challenge methods that some client may use; a promise only if they are not at hand. */
  pkceMethods(): readonly string[] | Promise<readonly string[]>;
  readonly consents: Consents;
  /** The only way to persons and users, but for {@link accounts}. */
  forTenant(tid: string): TenantDirectory;
  /**
   * The same services, whose events tell who makes the changes: for one request, or one piece of work.
   * @throws IdpError `invalid_record` for what no event can carry.
   */
  as(by: Attribution): Directory;
  readonly accounts: Accounts;
  /** What nobody gives who holds less. */
  readonly privileges: Privileges;
  readonly accountEvents: AccountEvents;
  readonly credentials: Credentials;
  /** @internal */
  readonly policies: Pick<PolicyWatch, 'begin' | 'offers' | 'problems'>;
  readonly idpNames: IdpNames;
  readonly deliveries: Deliveries;
  /** Invitations of all tenants, for the pages of their links, which learn the tenant from the link. */
  readonly acceptance: Acceptance;
  readonly onInvitationDue: OnInvitationDue;
  /** Resets of passwords of all tenants, for the pages of their links. */
  readonly passwordResets: PasswordResets;
  /** Proofs of e-mail addresses of all tenants, for the pages of their links. */
  readonly emailProofs: EmailProofs;
  /** @internal for `applySeed`. */
  readonly seedLedger: SeedLedger;
  /** @internal for `applySeed`: those that clients can be allowed now, past every cache. */
  existingScopes(): Promise<ReadonlySet<string>>;
  /** @internal for the protocol, which keeps the sign-ins. */
  readonly onSignInCutoff: OnSignInCutoff;
  readonly events: Events;
  readonly eventFeed: EventFeed;
  /** @internal for those who keep something of persons elsewhere. */
  readonly onPersonExport: OnPersonExport;
  readonly outbox: Pick<Outbox, 'start' | 'nudge'>;
  /** @internal */
  readonly keyCompletion: Pick<KeyCompletion, 'start' | 'isKeyed'>;
  /** @internal */
  readonly tenantRemoval: Pick<TenantRemoval, 'start' | 'nudge'>;
  /** @internal */
  readonly problems: EventTrials['problems'];
  /** Dispatches the events that are left, and waits for deliveries under way. */
  close(): Promise<void>;
}

export function createDirectory(options: DirectoryOptions): Directory {
  const { store, caches, keyring, hasher = createPasswords(), lease, logger, issuer, backOff } = options;
  const {
    now = () => Date.now(),
    identityScopes,
    ownSecretLength = 1,
    clientRules = { ownMetadata: false },
    means = passwordsAlone,
  } = options;
  const collections = openedCollections(store);
  const events = createListeners();
  const trials = createEventTrials({ records: collections.events, listeners: events, issuer, logger, ...(backOff && { backOff }) });
  const log = createEventLog(collections.events);
  const names = [...outboxes, ...(options.eventSources ?? [])];
  const sources = new Map(names.map((name) => [name, store.collection<Source>(name).withRemoved()]));
  const outbox = createOutbox({ sources, log, trials, lease: () => lease('events'), logger });
  store.onOutboxed(outbox.note);
  const keyCompletion = createKeyCompletion({ collections, lease: () => lease('keys of records'), logger });
  const deliveries = createDeliveries(collections.deliveries, logger);
  const context: DirectoryContext = {
    collections,
    caches,
    keyring,
    nudge: outbox.nudge,
    now,
    withCutoff: createWithCutoff(deliveries, now),
    by: {},
    nudgeRemovals: () => tenantRemoval.nudge(),
    ownSecretLength,
    ...clientRules,
    identityScopes,
    ownApi: options.ownApi,
    means,
    privileges: createPrivileges(options.privileged),
    isKeyed: keyCompletion.isKeyed,
    idpNames: createIdpNames(lease),
  };

  const policies = createPolicyWatch(context, logger);
  const tenants = createTenants(context);
  const accounts = createAccounts(context, tenants, policies);
  const change = createPasswordChanges(context, deliveries);
  const problemOf = createPasswordRules(options.passwordRules ?? {}, logger);
  const credentials = createCredentials(context, { accounts, passwords: hasher, problemOf, change });
  const signIns = createSignInCutoffs(deliveries, caches);
  const forget = createForget(collections);
  const personRemovalOver = createPersonRemovals({ context, deliveries, forget, erase: options.erase });
  const personExports = createPersonExports(context);
  const tenantRemoval = createTenantRemoval({
    context,
    forget,
    endLinks: createLinks(context).endAll,
    endSignIns: (oid) => signIns.cutOff({ oid }),
    removeRows: async (tid) => options.removeRows?.(tid),
    settledMs: options.settledMs,
    lease: () => lease('tenant removals'),
    logger,
  });
  const invitationLinks = createMailedLinks(keyring, 'invitation link');
  const pages = linkPages(`${issuer}/idp`);
  const rules = options.invitations ?? { hasMail: false, lifetimeSeconds: 86_400, urlOf: pages.invitation };
  const recovery = options.recovery ?? { resetSeconds: 3_600, resetUrlOf: pages.reset, proofSeconds: 86_400, proofUrlOf: pages.proof };
  const settling = createSettling({ context, deliveries, credentials, links: invitationLinks, urlOf: rules.urlOf });
  const shared = {
    issuer,
    apiScopes: createApiScopes(context),
    pkceMethods: createPkceMethods(context),
    accounts,
    privileges: context.privileges,
    policies,
    idpNames: context.idpNames,
    deliveries,
    seedLedger: createSeedLedger(context),
    existingScopes: () => existingScopes(context),
    onSignInCutoff: signIns.on,
    onPersonExport: personExports.on,
    credentials,
    onInvitationDue: settling.onDue,
    passwordResets: createPasswordResets({
      context,
      accounts,
      credentials,
      change,
      links: createMailedLinks(keyring, 'password reset link'),
      lifetimeSeconds: recovery.resetSeconds,
      urlOf: recovery.resetUrlOf,
    }),
    emailProofs: createEmailProofs({
      context,
      accounts,
      links: createMailedLinks(keyring, 'email proof link'),
      lifetimeSeconds: recovery.proofSeconds,
      urlOf: recovery.proofUrlOf,
    }),
    events,
    eventFeed: createEventFeed({
      records: collections.events,
      log,
      issuer,
      retention: options.eventRetention ?? Number.POSITIVE_INFINITY,
      waiting: outbox.waiting,
    }),
    outbox,
    keyCompletion,
    tenantRemoval,
    problems: trials.problems,
    async close() {
      await keyCompletion.close();
      await tenantRemoval.close();
      await outbox.close();
      await deliveries.close();
    },
  };

  const directoryOf = (by: Attribution): Directory => ({
    ...shared,
    ...createServices(
      { ...context, by, collections: attributedCollections(collections, by) },
      { ...shared, personRemovalOver, exportOf: personExports.of, settling, links: invitationLinks, rules },
    ),
    as(given) {
      checkAttribution(given);
      return directoryOf({ ...by, ...given });
    },
  });
  return directoryOf({});
}

interface ServiceParts extends Pick<Directory, 'issuer' | 'credentials'>, Omit<InvitationParts, 'personsOf' | 'clients'> {
  readonly personRemovalOver: ReturnType<typeof createPersonRemovals>;
  readonly exportOf: PersonExports['of'];
}

/** The services whose writes raise events. They have no caches of their own, because there is a set of them for each request. */
function createServices(context: DirectoryContext, { issuer, credentials, personRemovalOver, exportOf, ...ofInvitations }: ServiceParts) {
  const tenants = createTenants(context);
  const permissions = createPermissions(context);
  const clients = createClients(context);
  const apiResources = createApiResources(context);
  const links = createLinks(context);
  const { erase, removeUser } = personRemovalOver(context);
  return {
    tenants,
    permissions,
    clients,
    apiResources,
    authenticate: createAuthenticate(clients, apiResources),
    consents: createConsents(context),
    accountEvents: createAccountEvents(context, issuer),
    acceptance: createAcceptance({ context, tenants, credentials, ...ofInvitations }),
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
