import type { CollectionName } from '../store/collections.js';
import type { Collection, DirectoryStore } from '../store/directory-store.js';
import type { Keyring } from '../store/keyring.js';
import type {
  ApiResource,
  Client,
  Consent,
  Credential,
  EventRecord,
  Group,
  Permission,
  Person,
  SequenceRecord,
  Subsidiary,
  Tenant,
} from '../store/records.js';

/** The read-through caches that the services share, as far as these need them. */
export interface Caches {
  /** The value kept under the collection and id, or what `load` answers. */
  get<T>(collection: CollectionName, id: string, load: () => Promise<T | undefined>): Promise<T | undefined>;
  /** After a write: forgets the collection here, and soon on all nodes. */
  changed(collection: CollectionName): Promise<void>;
}

export interface Collections {
  readonly tenants: Collection<Tenant>;
  readonly subsidiaries: Collection<Subsidiary>;
  readonly persons: Collection<Person>;
  readonly credentials: Collection<Credential>;
  readonly groups: Collection<Group>;
  readonly permissions: Collection<Permission>;
  readonly clients: Collection<Client>;
  readonly apiResources: Collection<ApiResource>;
  readonly consents: Collection<Consent>;
  readonly events: Collection<EventRecord>;
  readonly sequences: Collection<SequenceRecord>;
}

/** What every service of the directory is made from. */
export interface DirectoryContext {
  readonly collections: Collections;
  readonly caches: Caches;
  readonly keyring: Keyring;
  /** After a write that left events in a person's document. */
  readonly nudge: () => void;
}

export const openedCollections = (store: DirectoryStore): Collections => ({
  tenants: store.collection('tenants'),
  subsidiaries: store.collection('subsidiaries'),
  persons: store.collection('persons'),
  credentials: store.collection('credentials'),
  groups: store.collection('groups'),
  permissions: store.collection('permissions'),
  clients: store.collection('clients'),
  apiResources: store.collection('apiResources'),
  consents: store.collection('consents'),
  events: store.collection('events'),
  sequences: store.collection('sequences'),
});
