import type { Attribution } from '../events.js';
import type { Caches } from '../store/caches/cache.js';
import type { CheckedCollection, CheckedDirectory } from '../store/records/checked-directory.js';
import type { KeyedCollection } from '../store/records/derived-keys.js';
import type {
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
  Subsidiary,
  Tenant,
  UpkeepRecord,
  Voucher,
} from '../store/records/records.js';
import type { Sealer } from '../store/sealer.js';
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
  readonly signingKeys: CheckedCollection<KeyRing>;
  readonly events: CheckedCollection<EventRecord>;
  readonly deliveries: CheckedCollection<Delivery>;
  readonly seeds: CheckedCollection<SeedRecord>;
  readonly upkeep: CheckedCollection<UpkeepRecord>;
  readonly removedUsers: CheckedCollection<RemovedUser>;
  readonly removals: CheckedCollection<Removal>;
}

/** What people can prove here. */
export interface SignInMeans {
  /** Whether a second factor can be asked for. */
  readonly hasSecondFactor: boolean;
  /** Whether a name in `signIn.methods` of a tenant, or of any, stands for something; a promise only if it has to be looked up. */
  offers(method: string, tid?: string): boolean | Promise<boolean>;
}

/** What clients may be registered with beyond the service's own. */
export interface ClientRules {
  /** Whether a host may have names of its own (`extraClientMetadata` by `configure`). Likely misspellings are refused even so. */
  readonly ownMetadata: boolean;
  /** Grant types of extensions. @default none */
  readonly grantTypes?: ReadonlySet<string>;
  /** Beginnings of ids that applications of extensions have. @default none */
  readonly takenPrefixes?: readonly string[];
  /** Whether a `postRegistrationUri` is https. @default false: or http at a loopback address */
  readonly isProduction?: boolean;
  /** Client metadata of extensions: what the value should be instead, or undefined. @default none */
  readonly addedMetadata?: ReadonlyMap<string, (value: unknown) => string | undefined>;
  /** What a URL should be instead of one that the service may not call. @default it may call all */
  readonly fetchProblem?: (url: string) => string | undefined;
  /** What oidc-provider finds wrong with a client, by its own schema. @default nothing */
  readonly problemsOfSchema?: (client: Client) => readonly InputProblem[];
  /** Whether FAPI 2.0 applies to all clients, so that no response to an API resource is signed by RS256. @default false */
  readonly isFapiOfAll?: boolean;
  /** What extensions find wrong with metadata as a whole, by the name of the member. @default nothing */
  readonly problemsOfMetadata?: (metadata: Client['metadata']) => Readonly<Record<string, string>>;
}

/** A permission of an account, in the tenant of the account. */
export interface Privilege {
  readonly tid: string;
  /** Absent if the record cannot be read. No caller holds such a privilege. */
  readonly permissionId?: string;
}

/** The tenants that a caller administers, and its permissions there. */
export interface Authority {
  /** Whether the caller administers all tenants, and the instance. */
  readonly ofAllTenants: boolean;
  /** Permissions, and scopes of the admin API, that the caller holds in the tenants that it administers. */
  readonly permissionIds: readonly string[];
  administers(tid: string): boolean;
  /** Whether {@link permissionIds} has the permission. */
  holds(permissionId: string): boolean;
}

/** Origin of the vouchers for means that the services write: the authority of an administrator of the admin API at that time, or a known voucher. */
export type Vouching = Authority | Voucher;

/** What every service of the directory is made from. */
export interface DirectoryContext extends ClientRules {
  readonly collections: Collections;
  readonly caches: Pick<Caches, 'rows' | 'over' | 'watch' | 'changed'>;
  readonly sealer: Sealer;
  /** The time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
  readonly withCutoff: WithCutoff;
  /** Who makes the changes, for events that are raised when a change is complete. */
  readonly by: Attribution;
  readonly vouching: Vouching;
  /** Whether a permission is one of the admin API, or counts as one. */
  readonly isPrivileged: (permissionId: string) => boolean;
  /** Scopes that exist whatever API resources there are. */
  readonly identityScopes: ReadonlySet<string>;
  /** The API resource of the service itself, the admin API. It has no record, so nobody changes it. */
  readonly ownApi: (() => ApiResource) | undefined;
  /** Characters of a secret that a host brings, at least. */
  readonly ownSecretLength: number;
  readonly means: SignInMeans;
  readonly idpNames: IdpNames;
  readonly sharedIds: SharedIds;
  readonly removedUserIds: RemovedUserIds;
  readonly nationalIds: NationalIds;
  /** Whether all rows of the collection have the members that lists are made by. */
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
  signingKeys: store.collection('signingKeys'),
  events: store.collection('events'),
  deliveries: store.collection('deliveries'),
  seeds: store.collection('seeds'),
  upkeep: store.collection('upkeep'),
  removedUsers: store.collection('removedUsers'),
  removals: store.collection('removals'),
});

/** The sign-ins that a change invalidates: those of a user, by `oid`, or those of all users of a tenant. */
export type SignInCutoff = { readonly oid: string } | { readonly tid: string; readonly after?: string };

/** From when on sign-ins count again, for a record that is written by such a change. */
export type NextNotBefore = (record: { readonly notBefore?: Date }) => Date;

/**
 * Runs a change that invalidates sign-ins. The notice is enqueued before the write (a crash cannot lose it) and delivered after it.
 */
export type WithCutoff = <T>(cutoff: SignInCutoff, change: (nextNotBefore: NextNotBefore) => Promise<T>) => Promise<T>;

/** A person who was erased, or lost their user: by ids alone, because it is kept until everything was forgotten. */
export interface ForgottenPerson {
  readonly tid: string;
  readonly personId: string;
  readonly userId?: string;
  /** Credentials beside those of the user's id. */
  readonly credentialIds?: readonly string[];
  /** Whether the user alone is gone. */
  readonly keepsPerson?: boolean;
}
