import assert from 'node:assert/strict';
import type { Collection, CollectionSpec, DirectoryStore, Row, Unsaved, Where } from '../../../lib/store/directory-store.js';

/** A record with every kind of field that the durable records have. */
export interface Member extends Row {
  readonly tid: string;
  readonly externalId?: string | undefined;
  readonly nameKey?: string;
  readonly user?: {
    readonly id: string;
    readonly nameKey?: string;
    readonly groupIds: readonly string[];
    readonly identityKeys?: readonly string[];
    readonly notBefore?: Date;
  };
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly joinedAt?: Date;
  readonly count?: number;
  readonly number?: number;
}

export const members = {
  name: 'members',
  indexes: {
    byTenant: { fields: ['tid'] },
    byUser: { fields: ['user.id'], unique: true },
    byUserName: { fields: ['tid', 'user.nameKey'], unique: true },
    byExternalId: { fields: ['tid', 'externalId'] },
    byGroup: { fields: ['user.groupIds'] },
    byTenantAndGroup: { fields: ['tid', 'user.groupIds'] },
    byIdentity: { fields: ['user.identityKeys'], unique: true },
    inOrderOfName: { fields: ['tid', 'nameKey'], order: 'text' },
    inOrderOfGroupAndName: { fields: ['tid', 'user.groupIds', 'nameKey'], order: 'text' },
    inOrderOfJoining: { fields: ['tid', 'joinedAt'], order: 'instant' },
    inOrderOfCount: { fields: ['count'], order: 'number' },
    inOrderOfNumber: { fields: ['tid', 'number'], order: 'number', unique: true },
  },
} as const satisfies CollectionSpec;

export async function openMembers(store: DirectoryStore): Promise<Collection<Member>> {
  await store.open([members]);
  return store.collection<Member>(members.name);
}

/** Returns a row of tenant `t1`, unless the fields have another tenant. */
export const member = (id: string, fields: Partial<Unsaved<Member>> = {}): Unsaved<Member> => ({
  tid: 't1',
  ...fields,
  id,
});

/** Returns the `user` of a member, with the id `user of <member>`. */
export const userOf = (id: string, fields: Partial<NonNullable<Member['user']>> = {}): Pick<Member, 'user'> => ({
  user: { id: `user of ${id}`, groupIds: [], ...fields },
});

export async function assertFinds(rows: Collection<Member>, where: Where, ...ids: readonly string[]): Promise<void> {
  const read = await rows.find(where);
  assert.deepEqual(
    read.map(({ id }) => id),
    ids,
  );
}

/** Error of a conflict. Tests compare the code, because an adapter may have loaded its own copy of the error class. */
export const conflict = { code: 'conflict' };
