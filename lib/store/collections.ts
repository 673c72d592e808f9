/** The durable collections and the look-ups they answer. */
import type { CollectionSpec } from './directory-store.js';

export const collections = {
  tenants: { name: 'tenants', indexes: {} },
  subsidiaries: { name: 'subsidiaries', indexes: { byTenant: { fields: ['tid'] } } },
  persons: {
    name: 'persons',
    indexes: {
      byTenant: { fields: ['tid'] },
      byUser: { fields: ['user.id'], unique: true },
      byUserName: { fields: ['tid', 'user.userNameKey'], unique: true },
      byUserNameAnywhere: { fields: ['user.userNameKey'] },
      byParent: { fields: ['user.parentUserId'] },
      byParentInTenant: { fields: ['user.parentUserId', 'tid'], unique: true },
      byExternalId: { fields: ['tid', 'externalId'], unique: true },
      byExternalIdentity: { fields: ['user.externalIdentityKeys'] },
      byNationalId: { fields: ['tid', 'nationalIdHash'], unique: true },
      byGroup: { fields: ['user.groupIds'] },
      byOutbox: { fields: ['outbox'] },
    },
  },
  credentials: { name: 'credentials', indexes: {} },
  groups: {
    name: 'groups',
    indexes: { byTenant: { fields: ['tid'] }, byName: { fields: ['tid', 'name'], unique: true } },
  },
  permissions: { name: 'permissions', indexes: {} },
  clients: { name: 'clients', indexes: {} },
  apiResources: { name: 'apiResources', indexes: { byScope: { fields: ['scopes'], unique: true } } },
  consents: { name: 'consents', indexes: { byUser: { fields: ['userId'] }, byClient: { fields: ['clientId'] } } },
  signingKeys: { name: 'signingKeys', indexes: { byOutbox: { fields: ['outbox'] } } },
  events: { name: 'events', indexes: { byBucket: { fields: ['bucket'] } } },
  deliveries: { name: 'deliveries', indexes: { byState: { fields: ['state'] }, byBatch: { fields: ['batch'] } } },
  seeds: { name: 'seeds', indexes: { byRecord: { fields: ['recordId'] } } },
  sequences: { name: 'sequences', indexes: {} },
  changes: { name: 'changes', indexes: {} },
} as const satisfies Record<string, CollectionSpec>;

export type CollectionName = keyof typeof collections;
