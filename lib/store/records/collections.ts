/** The durable collections and the look-ups they answer. */
import type { CollectionSpec } from '../directory-store.js';

/** Rows with events that are not dispatched. */
const byOutbox = { fields: ['outbox'] } as const;

const inCreation = (...within: readonly string[]) => ({ fields: [...within, 'createdAt'], order: 'instant' }) as const;

/** Returns indexes of lists: by name, and by creation. */
const listed = (...within: readonly string[]) =>
  ({
    inOrderOfName: { fields: [...within, 'nameKey'], order: 'text' },
    inOrderOfCreation: inCreation(...within),
  }) as const;
/** Returns indexes of lists, by name and by creation, of the rows that have a status. */
const listedByStatus = (...within: readonly string[]) =>
  ({
    ofStatusInOrderOfName: { fields: [...within, 'nameKey'], order: 'text' },
    ofStatusInOrderOfCreation: inCreation(...within),
  }) as const;

export const collections = {
  tenants: {
    name: 'tenants',
    indexes: { byUniqueName: { fields: ['uniqueName'], unique: true }, ...listed(), ...listedByStatus('status'), byOutbox },
  },
  subsidiaries: { name: 'subsidiaries', indexes: { byTenant: { fields: ['tid'] }, ...listed('tid'), byOutbox } },
  persons: {
    name: 'persons',
    indexes: {
      byTenant: { fields: ['tid'] },
      byUser: { fields: ['user.id'], unique: true },
      byUserName: { fields: ['tid', 'user.userNameKey'], unique: true },
      byUserNameAnywhere: { fields: ['user.userNameKey'] },
      byParentName: { fields: ['parentNameKey'] },
      byParent: { fields: ['user.parentUserId'] },
      byParentInTenant: { fields: ['user.parentUserId', 'tid'], unique: true },
      byExternalId: { fields: ['tid', 'externalId'], unique: true },
      byExternalIdentity: { fields: ['user.externalIdentityKeys'] },
      byNationalId: { fields: ['tid', 'nationalIdHash'], unique: true },
      byGroup: { fields: ['user.groupIds'] },
      ofGroupLinked: { fields: ['user.groupIds', 'isLinked'] },
      byOutbox,
      byEmail: { fields: ['tid', 'emailKey'] },
      byEmailAnywhere: { fields: ['emailKey'] },
      bySecondEmail: { fields: ['tid', 'secondEmailKey'] },
      ...listed('tid'),
      withUserInOrderOfName: { fields: ['tid', 'hasUser', 'nameKey'], order: 'text' },
      withUserInOrderOfCreation: { fields: ['tid', 'hasUser', 'createdAt'], order: 'instant' },
      ...listedByStatus('tid', 'user.status'),
    },
  },
  invitations: {
    name: 'invitations',
    indexes: {
      byTenant: { fields: ['tid'] },
      byPerson: { fields: ['tid', 'personId'] },
      byUser: { fields: ['tid', 'userId'] },
      inOrderOfCreation: inCreation('tid'),
      ofStatusInOrderOfCreation: inCreation('tid', 'status'),
    },
  },
  credentials: { name: 'credentials', indexes: {} },
  groups: {
    name: 'groups',
    indexes: {
      byTenant: { fields: ['tid'] },
      byName: { fields: ['tid', 'name'], unique: true },
      byPermission: { fields: ['permissionIds'] },
      withAdminScope: { fields: ['givesAdminScope'] },
      ...listed('tid'),
      byOutbox,
    },
  },
  permissions: { name: 'permissions', indexes: { ...listed(), byOutbox } },
  clients: { name: 'clients', indexes: { ...listed(), ...listedByStatus('status'), byOutbox } },
  apiResources: {
    name: 'apiResources',
    indexes: { byScope: { fields: ['scopes'], unique: true }, ...listed(), ...listedByStatus('status'), byOutbox },
  },
  consents: { name: 'consents', indexes: { byUser: { fields: ['userId'] }, byClient: { fields: ['clientId'] } } },
  signIns: { name: 'signIns', indexes: { inOrderOfAge: { fields: ['oldestAt'], order: 'instant' } } },
  signingKeys: { name: 'signingKeys', indexes: { byOutbox } },
  events: {
    name: 'events',
    indexes: {
      byEvent: { fields: ['eventId'], unique: true },
      byTenant: { fields: ['tid'] },
      byType: { fields: ['type'] },
      byTenantAndType: { fields: ['tid', 'type'] },
    },
  },
  deliveries: { name: 'deliveries', indexes: { byState: { fields: ['state'] }, byBatch: { fields: ['batch'] } } },
  seeds: { name: 'seeds', indexes: { byRecord: { fields: ['recordId'] } } },
  upkeep: { name: 'upkeep', indexes: {} },
  removedUsers: { name: 'removedUsers', indexes: {} },
  removals: { name: 'removals', indexes: { byOutbox } },
  accountEvents: { name: 'accountEvents', indexes: { byOutbox } },
  changes: { name: 'changes', indexes: {} },
} as const satisfies Record<string, CollectionSpec>;

export type CollectionName = keyof typeof collections;

/** Collections whose rows have events in them. */
export const outboxes = Object.values<CollectionSpec>(collections)
  .filter(({ indexes }) => 'byOutbox' in indexes)
  .map(({ name }) => name);

const named = new Set(outboxes);

export const hasOutbox = (collection: string): boolean => named.has(collection);

/** Returns whether rows of the collection leave a remainder with their events when they are removed. Rows of `accountEvents` have nothing but events. */
export const leavesRemainders = (collection: string): boolean => hasOutbox(collection) && collection !== collections.accountEvents.name;
