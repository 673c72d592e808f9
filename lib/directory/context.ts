import type { Caches } from '../store/cache.js';
import type { CheckedCollection, CheckedDirectory } from '../store/checked-directory.js';
import type { Keyring } from '../store/keyring.js';
import type {
  ApiResource,
  Client,
  Consent,
  Credential,
  Delivery,
  EventRecord,
  Group,
  KeyRing,
  Permission,
  Person,
  SeedRecord,
  SequenceRecord,
  Subsidiary,
  Tenant,
} from '../store/records.js';

export interface Collections {
  readonly tenants: CheckedCollection<Tenant>;
  readonly subsidiaries: CheckedCollection<Subsidiary>;
  readonly persons: CheckedCollection<Person>;
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
  readonly sequences: CheckedCollection<SequenceRecord>;
}

/** What people can prove here. */
export interface SignInMeans {
  /** Whether a second factor can be asked for. */
  readonly hasSecondFactor: boolean;
  /** Whether a name in `signIn.methods` stands for something; a promise only if it has to be looked up. */
  offers(method: string): boolean | Promise<boolean>;
}

/** What clients may be registered with beyond the service's own. */
export interface ClientRules {
  /** Whether a host may have names of its own (`extraClientMetadata` by `configure`). Likely misspellings are refused even so. */
  readonly ownMetadata: boolean;
  /** Grant types of extensions. @default none */
  readonly grantTypes?: ReadonlySet<string>;
  /** Beginnings of ids that applications of extensions have. @default none */
  readonly takenPrefixes?: readonly string[];
  /** Client metadata of extensions: what the value should be instead, or undefined. @default none */
  readonly addedMetadata?: ReadonlyMap<string, (value: unknown) => string | undefined>;
}

/** What every service of the directory is made from. */
export interface DirectoryContext extends ClientRules {
  readonly collections: Collections;
  readonly caches: Pick<Caches, 'rows' | 'over' | 'watch' | 'changed'>;
  readonly keyring: Keyring;
  /** After a write that left events in a document. */
  readonly nudge: () => void;
  readonly withCutoff: WithCutoff;
  readonly withErasure: WithErasure;
  /** Scopes that exist whatever API resources there are. */
  readonly identityScopes: ReadonlySet<string>;
  /** Characters of a secret that a host brings, at least. */
  readonly ownSecretLength: number;
  readonly means: SignInMeans;
}

export const openedCollections = (store: CheckedDirectory): Collections => ({
  tenants: store.collection('tenants'),
  subsidiaries: store.collection('subsidiaries'),
  persons: store.collection('persons'),
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
  sequences: store.collection('sequences'),
});

/** The sign-ins that a change invalidates: those of a user, by `oid`, or those of all users of a tenant. */
export type SignInCutoff = { readonly oid: string } | { readonly tid: string; readonly after?: string };

/** From when on sign-ins count again, for a record that is written by such a change. */
export type NextNotBefore = (record: { readonly notBefore?: Date }) => Date;

/**
 * Runs a change that invalidates sign-ins. The notice is enqueued before the write (a crash cannot lose it) and delivered after it.
 */
export type WithCutoff = <T>(cutoff: SignInCutoff, change: (nextNotBefore: NextNotBefore) => Promise<T>) => Promise<T>;

/** Runs the erasure of a person, and notifies others who keep data of the person. The notice is enqueued before the write, as for a cut-off. */
export type WithErasure = <T>(person: ErasedPerson, change: () => Promise<T>) => Promise<T>;

/** The erased person, as the others are told. */
export interface ErasedPerson {
  readonly tid: string;
  readonly personId: string;
  readonly userId?: string;
}
