import type { Logger } from '../logger.js';
import type { CheckedDirectory } from '../store/checked-directory.js';
import type { Keyring } from '../store/keyring.js';
import { type AccountEvents, createAccountEvents } from './accounts/account-events.js';
import { type Accounts, createAccounts } from './accounts/accounts.js';
import { type Credentials, createCredentials } from './accounts/credentials.js';
import { createLinking, createLinks, type Linking } from './accounts/linking.js';
import { createRegistration, type Registration } from './accounts/registration.js';
import { createOnSignInCutoff, createWithCutoff, type OnSignInCutoff } from './accounts/sign-in-cutoff.js';
import { type ApiResources, type ApiScopes, createApiResources, createApiScopes } from './clients/api-resources.js';
import { type Authenticate, createAuthenticate } from './clients/authenticate.js';
import { existingScopes } from './clients/client-scopes.js';
import { type Clients, createClients, createPkceMethods } from './clients/clients.js';
import { type Consents, createConsents } from './clients/consents.js';
import { type ClientRules, type DirectoryContext, type ErasedPerson, openedCollections, type SignInMeans } from './context.js';
import { createPasswords, type Passwords } from './credentials/passwords.js';
import { createGroups, type Groups } from './groups/groups.js';
import { createPermissions, type Permissions } from './groups/permissions.js';
import { createDeliveries, type Deliveries } from './outbox/deliveries.js';
import { createEventFeed, type EventFeed } from './outbox/event-feed.js';
import { createListeners, type Events } from './outbox/event-listeners.js';
import { createEventTrials, type EventTrials } from './outbox/event-trials.js';
import { createOutbox, type Outbox, type Source } from './outbox/outbox.js';
import { createErasure } from './persons/erasure.js';
import { createErasureNotices } from './persons/erasure-notices.js';
import { createPersons, type Persons } from './persons/persons.js';
import { createUsers, type Users } from './persons/users.js';
import { createSeedLedger, type SeedLedger } from './seed-ledger.js';
import { createPolicyWatch, type PolicyWatch, passwordsAlone } from './tenants/sign-in-policy.js';
import { createSubsidiaries, type Subsidiaries } from './tenants/subsidiaries.js';
import { createTenants, type Tenants } from './tenants/tenants.js';

export interface DirectoryOptions {
  /** Opened, with the collections of `lib/store/collections.ts`. */
  readonly store: CheckedDirectory;
  readonly caches: DirectoryContext['caches'];
  readonly keyring: Keyring;
  /** @default scrypt */
  readonly hasher?: Passwords;
  /** Takes or renews the right to dispatch events; false while another node has it. */
  readonly lease: () => Promise<boolean>;
  readonly logger: Logger;
  /** The `source` of events. */
  readonly issuer: string;
  /** Milliseconds before a listener's second attempt, third …; @default 1, 5, 25 and 125 seconds */
  readonly backOff?: readonly number[];
  /** Characters of a secret that a host brings for a client or an API resource, at least. @default 1 */
  readonly ownSecretLength?: number;
  /** Scopes of the protocol and of all claim sets. */
  readonly identityScopes: ReadonlySet<string>;
  /** Collections of others whose rows have events in them. */
  readonly eventSources?: readonly string[];
  /** Erases what others keep of a person who is erased; called until it succeeds. */
  readonly erase?: ((person: ErasedPerson) => Promise<void>) | undefined;
  /** What clients may be registered with beyond the service's own. @default nothing */
  readonly clientRules?: ClientRules;
  /** What people can prove. @default passwords, and no second factor */
  readonly means?: SignInMeans;
}

/** Services bound to one tenant. To them a record of another tenant does not exist. */
export interface TenantDirectory {
  readonly persons: Persons;
  readonly users: Users;
  readonly groups: Groups;
  readonly subsidiaries: Subsidiaries;
  readonly linking: Linking;
  readonly registration: Registration;
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
  readonly accounts: Accounts;
  readonly accountEvents: AccountEvents;
  readonly credentials: Credentials;
  /** @internal */
  readonly policies: Pick<PolicyWatch, 'begin' | 'offers' | 'problems'>;
  readonly deliveries: Deliveries;
  /** @internal for `applySeed`. */
  readonly seedLedger: SeedLedger;
  /** @internal for `applySeed`: those that clients can be allowed now, past every cache. */
  existingScopes(): Promise<ReadonlySet<string>>;
  /** @internal for the protocol, which keeps the sign-ins. */
  readonly onSignInCutoff: OnSignInCutoff;
  readonly events: Events;
  readonly eventFeed: EventFeed;
  readonly outbox: Pick<Outbox, 'start' | 'nudge'>;
  /** @internal */
  readonly problems: EventTrials['problems'];
  /** Dispatches the events that are left, and waits for deliveries under way. */
  close(): Promise<void>;
}

export function createDirectory(options: DirectoryOptions): Directory {
  const { store, caches, keyring, hasher = createPasswords(), lease, logger, issuer, backOff } = options;
  const { identityScopes, ownSecretLength = 1, clientRules = { ownMetadata: false }, means = passwordsAlone } = options;
  const collections = openedCollections(store);
  const events = createListeners();
  const trials = createEventTrials({ records: collections.events, listeners: events, issuer, logger, ...(backOff && { backOff }) });
  const sources = (options.eventSources ?? []).map((name) => store.collection<Source>(name));
  const outbox = createOutbox({ collections, sources, trials, lease, logger });
  const deliveries = createDeliveries(collections.deliveries, logger);
  const context: DirectoryContext = {
    collections,
    caches,
    keyring,
    nudge: outbox.nudge,
    withCutoff: createWithCutoff(deliveries),
    withErasure: createErasureNotices(deliveries, collections.persons, options.erase).withErasure,
    ownSecretLength,
    ...clientRules,
    identityScopes,
    means,
  };

  const tenants = createTenants(context);
  const permissions = createPermissions(context);
  const clients = createClients(context);
  const apiResources = createApiResources(context);
  const policies = createPolicyWatch(context, logger);
  const accounts = createAccounts(context, tenants, policies);
  const credentials = createCredentials(context, accounts, hasher);
  const links = createLinks(context);
  const erase = createErasure(context, links.endAll);

  return {
    issuer,
    tenants,
    permissions,
    clients,
    apiResources,
    authenticate: createAuthenticate(clients, apiResources),
    apiScopes: createApiScopes(context),
    pkceMethods: createPkceMethods(context),
    consents: createConsents(context),
    accounts,
    policies,
    accountEvents: createAccountEvents(context, issuer),
    deliveries,
    seedLedger: createSeedLedger(context),
    existingScopes: () => existingScopes(context),
    onSignInCutoff: createOnSignInCutoff(deliveries, caches),
    credentials,
    events,
    eventFeed: createEventFeed(collections, issuer),
    outbox,
    problems: trials.problems,
    async close() {
      await outbox.close();
      await deliveries.close();
    },
    forTenant(tid) {
      const groups = createGroups(context, tenants, permissions, tid);
      const subsidiaries = createSubsidiaries(context, tenants, tid);
      const persons = createPersons(context, { tenants, groups, subsidiaries, erase }, tid);
      const users = createUsers(context, groups, tid);
      return {
        groups,
        subsidiaries,
        persons,
        registration: createRegistration({ tenants, persons, users, credentials, means }, tid),
        users,
        linking: createLinking(links, tid),
      };
    },
  };
}
