import type { Attribution } from '../events.js';
import type { Caches } from '../store/caches/cache.js';
import type { CheckedCollection, CheckedDirectory } from '../store/records/checked-directory.js';
import type { KeyedCollection } from '../store/records/derived-keys.js';
import type {
  AccountEventsRow,
  ApiResource,
  Client,
  Consent,
  Credential,
  Delivery,
  EventRecord,
  Group,
  Invitation,
  KeyRing,
  Permission,
  Person,
  Removal,
  RemovedUser,
  SeedRecord,
  SignInHistoryRow,
  Subsidiary,
  Tenant,
  UpkeepRecord,
  Voucher,
} from '../store/records/records.js';
import type { Sealer } from '../store/sealer.js';
import type { AttributeRules } from './attributes.js';
import type { InputProblem } from './input.js';
import type { NationalIds } from './keyed-hashes/national-ids.js';
import type { RemovedUserIds } from './keyed-hashes/removed-user-ids.js';
import type { IdpNames, SharedIds } from './name-space.js';

export interface Collections {
  readonly tenants: CheckedCollection<Tenant>;
  readonly subsidiaries: CheckedCollection<Subsidiary>;
  readonly persons: CheckedCollection<Person>;
  readonly invitations: CheckedCollection<Invitation>;
  readonly credentials: CheckedCollection<Credential>;
  readonly groups: CheckedCollection<Group>;
  readonly permissions: CheckedCollection<Permission>;
  readonly clients: CheckedCollection<Client>;
  readonly apiResources: CheckedCollection<ApiResource>;
  readonly consents: CheckedCollection<Consent>;
  readonly signIns: CheckedCollection<SignInHistoryRow>;
  readonly signingKeys: CheckedCollection<KeyRing>;
  readonly events: CheckedCollection<EventRecord>;
  readonly deliveries: CheckedCollection<Delivery>;
  readonly seeds: CheckedCollection<SeedRecord>;
  readonly upkeep: CheckedCollection<UpkeepRecord>;
  readonly removedUsers: CheckedCollection<RemovedUser>;
  readonly removals: CheckedCollection<Removal>;
  readonly accountEvents: CheckedCollection<AccountEventsRow>;
}

/** Sign-in methods of the instance. */
export interface SignInMeans {
  /** Whether the instance can ask for a second factor. */
  readonly hasSecondFactor: boolean;
  /**
   * Returns whether a name in `signIn.methods` of a tenant, or of any tenant, is a sign-in method that exists. Returns a promise only if the
   * method has to be looked up.
   */
  offers(method: string, tid?: string): boolean | Promise<boolean>;
  /** Returns the name of the method that signs users of the tenant in by identities of this `idp`. Undefined if there is no such method now. */
  methodOf(idp: string, tid: string): Promise<string | undefined>;
}

/** Client metadata that is allowed in addition to the service's own, and further checks of clients. */
export interface ClientRules {
  /** Whether a host may add metadata names (`extraClientMetadata` by `configure`). Likely misspellings are refused nevertheless. */
  readonly ownMetadata: boolean;
  /** Grant types of extensions. @default none */
  readonly grantTypes?: ReadonlySet<string>;
  /** Prefixes of the ids of applications that extensions serve. @default none */
  readonly takenPrefixes?: readonly string[];
  /** Whether a `postRegistrationUri` must be https. @default false: http at a loopback address is allowed too */
  readonly isProduction?: boolean;
  /** Client metadata of extensions. Each check returns what the value should be instead, or undefined. @default none */
  readonly addedMetadata?: ReadonlyMap<string, (value: unknown) => string | undefined>;
  /** Returns the expected URL instead of one that the service must not call. @default the service may call all URLs */
  readonly fetchProblem?: (url: string) => string | undefined;
  /** Returns the problems that oidc-provider's own schema finds in a client. @default none */
  readonly problemsOfSchema?: (client: Client) => readonly InputProblem[];
  /** Whether FAPI 2.0 applies to all clients, so that no response to an API resource is signed by RS256. @default false */
  readonly isFapiOfAll?: boolean;
  /** Returns the problems that extensions find in metadata as a whole, by the name of the member. @default none */
  readonly problemsOfMetadata?: (metadata: Client['metadata']) => Readonly<Record<string, string>>;
}

/** A permission of an account, in the tenant of the account. */
export interface Privilege {
  readonly tid: string;
  /** Id of the permission. Absent if the record cannot be read. No caller holds a privilege without an id. */
  readonly permissionId?: string;
}

/** The tenants that a caller administers, and its permissions there. */
export interface Authority {
  /** Whether the caller administers all tenants, and the instance. */
  readonly ofAllTenants: boolean;
  /** Permissions, and scopes of the admin API, that the caller holds in the tenants that it administers. */
  readonly permissionIds: readonly string[];
  administers(tid: string): boolean;
  /** Returns whether {@link permissionIds} has the permission. */
  holds(permissionId: string): boolean;
}

/**
 * Origin of the vouchers for means that the services write. The origin is the authority of an administrator of the admin API at that time,
 * or a known voucher.
 */
export type Vouching = Authority | Voucher;

/** Dependencies that all services of the directory share. */
export interface DirectoryContext extends ClientRules {
  readonly collections: Collections;
  readonly caches: Pick<Caches, 'rows' | 'over' | 'watch' | 'changed' | 'onWork'>;
  readonly sealer: Sealer;
  /** Returns the time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
  readonly withCutoff: WithCutoff;
  readonly cutoffTime: CutoffTime;
  /** Actor of the changes, for events that are raised when a change is complete. */
  readonly by: Attribution;
  readonly vouching: Vouching;
  /** Returns whether a permission is one of the admin API, or counts as one. */
  readonly isPrivileged: (permissionId: string) => boolean;
  /** Scopes that exist independently of API resources. */
  readonly identityScopes: ReadonlySet<string>;
  /** Returns the API resource of the service itself, the admin API. The admin API has no record, so no caller can change it. */
  readonly ownApi: (() => ApiResource) | undefined;
  /** Minimum number of characters of a secret that a host sets itself. */
  readonly ownSecretLength: number;
  readonly means: SignInMeans;
  /** The schema of the attributes of persons. Without a schema, attributes are any object. */
  readonly attributes: AttributeRules | undefined;
  readonly idpNames: IdpNames;
  readonly sharedIds: SharedIds;
  readonly removedUserIds: RemovedUserIds;
  readonly nationalIds: NationalIds;
  /** Returns whether all rows of the collection have the members that lists need. */
  isKeyed(collection: KeyedCollection): Promise<boolean>;
}

export const openedCollections = (store: CheckedDirectory): Collections => ({
  tenants: store.collection('tenants'),
  subsidiaries: store.collection('subsidiaries'),
  persons: store.collection('persons'),
  invitations: store.collection('invitations'),
  credentials: store.collection('credentials'),
  groups: store.collection('groups'),
  permissions: store.collection('permissions'),
  clients: store.collection('clients'),
  apiResources: store.collection('apiResources'),
  consents: store.collection('consents'),
  signIns: store.collection('signIns'),
  signingKeys: store.collection('signingKeys'),
  events: store.collection('events'),
  deliveries: store.collection('deliveries'),
  seeds: store.collection('seeds'),
  upkeep: store.collection('upkeep'),
  removedUsers: store.collection('removedUsers'),
  removals: store.collection('removals'),
  accountEvents: store.collection('accountEvents'),
});

/** The sign-ins that a change invalidates: sign-ins of one user, by `oid`, sign-ins of one user to one client, or sign-ins of all users of a tenant. */
export type SignInCutoff = { readonly oid: string } | ClientCutoff | { readonly tid: string; readonly after?: string };

/** The end of the access of one client to the data of one user. */
export interface ClientCutoff {
  readonly oid: string;
  readonly clientId: string;
  /** Time of the change, by {@link CutoffTime}. */
  readonly at: number;
  /**
   * Creation of the consent that the change withdraws, in milliseconds since the epoch. The creation names the consent, because the same client may get
   * another consent later. Null for a consent whose record cannot be read. Absent without a consent.
   */
  readonly consent?: number | null;
  /** Actor of the change, for its event. */
  readonly by: Attribution;
}

/** The sign-ins of one user, or the access of one client to the data of one user. */
export interface EndedAccess {
  readonly oid: string;
  readonly clientId?: string;
}

/**
 * Returns the time of a cut-off, in milliseconds since the epoch: now, or the time of the newest record that the cut-off ends. Another node may have stamped
 * that record before the store's clock was set back. While the store of sign-ins is unavailable, the time is now.
 */
export type CutoffTime = (ended: EndedAccess) => Promise<number>;

/** Returns the time from which sign-ins are valid again, for a record that the invalidating change writes. */
export type NextNotBefore = (record: { readonly notBefore?: Date }) => Date;

/**
 * Runs a change that invalidates sign-ins. A delivery is enqueued before the change, so that a crash cannot lose the cut-off. The promise resolves when
 * the sign-ins of the user have ended on every node. For a tenant, the promise resolves after the change, and the delivery ends the sign-ins.
 */
export type WithCutoff = <T>(cutoff: SignInCutoff, change: (nextNotBefore: NextNotBefore) => Promise<T>) => Promise<T>;

/** Reader of an export. A person gets neither ids nor words of other persons, such as of a support agent who impersonated the person. */
export type ExportReader = 'administrator' | 'person';

/** A person who was erased, or whose user was removed. Holds ids alone, because it is stored until all data of the person is removed. */
export interface ForgottenPerson {
  readonly tid: string;
  readonly personId: string;
  readonly userId?: string;
  /** Ids of credentials in addition to the user's own id. */
  readonly credentialIds?: readonly string[];
  /** Whether only the user was removed. */
  readonly keepsPerson?: boolean;
}
