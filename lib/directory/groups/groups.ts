/**
 * Groups of a tenant's users, and the catalogue of permissions that groups give.
 *
 * Users name groups by id or by name (`group-refs`). All tenants share the permissions: a group refers to entries of the catalogue, and an unknown
 * permission is refused.
 */
import { type Static, Type } from '@sinclair/typebox';
import { IdpError } from '../../errors.js';
import type { Page } from '../../store/directory-store.js';
import { collections as specs } from '../../store/records/collections.js';
import { groupDefaults, groupMembers } from '../../store/records/organisations.js';
import type { Group } from '../../store/records/records.js';
import { inputSchema } from '../../text/schemas.js';
import type { DirectoryContext } from '../context.js';
import { idFor } from '../identifiers.js';
import { type CheckCurrent, checkInput, newRecord, type Patch, patched, patchSchema, withDefaults } from '../input.js';
import { createNameList, type Listed, type ListQuery } from '../lists/list.js';
import { changed, pendingEvent, withEvents } from '../outbox/pending-events.js';
import { readMany } from '../read-many.js';
import { createTenantScope } from '../tenants/tenant-scope.js';
import type { Tenants } from '../tenants/tenants.js';
import type { Permissions } from './permissions.js';

const groupFields = inputSchema(groupMembers);
const groupPatch = patchSchema(groupFields);
export const groupInput = inputSchema({ id: Type.Optional(Type.String()), ...withDefaults(groupMembers, groupDefaults) });
/** @interface */
export type GroupFields = Static<typeof groupFields>;
/** @interface */
export type GroupInput = Static<typeof groupInput>;

export interface Groups {
  /** @throws IdpError `invalid_record`, `permission_unknown`; `conflict` when the tenant has a group of that name. */
  create(input: GroupInput): Promise<Group>;
  get(id: string): Promise<Group | undefined>;
  /** @throws IdpError `not_found`. */
  require(id: string): Promise<Group>;
  find(page?: Page): Promise<readonly Group[]>;
  /** @throws IdpError `invalid_request`, `invalid_cursor`. */
  list(query?: ListQuery): Promise<Listed<Group>>;
  findByName(name: string): Promise<Group | undefined>;
  /** Returns the groups with these ids or names, in the same order; undefined for each group that does not exist. */
  findMany(refs: { readonly ids: readonly string[] } | { readonly names: readonly string[] }): Promise<readonly (Group | undefined)[]>;
  /** @throws IdpError `not_found`, `invalid_record`, `permission_unknown`, `conflict`. */
  update(id: string, patch: Patch<GroupFields>, check?: CheckCurrent<Group>): Promise<Group>;
  /** Removes the group from its members too. @throws IdpError `not_found`. */
  remove(id: string, check?: CheckCurrent<Group>): Promise<void>;
}

export function createGroups(context: DirectoryContext, tenants: Tenants, permissions: Permissions, tid: string): Groups {
  const { collections, caches, now } = context;
  const rows = createTenantScope(collections.groups, specs.groups, tid);
  const persons = createTenantScope(collections.persons, specs.persons, tid);
  const cached = caches.rows<Group>('groups');
  const get = async (id: string) => {
    const group = await cached.get(id);
    return group?.tid === tid ? group : undefined;
  };
  const findByName = async (name: string) => (await rows.find('byName', [name]))[0];
  const all = () => rows.find('byTenant', []);
  const event = (type: 'GroupCreated' | 'GroupUpdated' | 'GroupRemoved', id: string) => pendingEvent(now, type, tid, { AggregateId: id });
  return {
    get,
    find: (page) => rows.find('byTenant', [], page),
    list: createNameList<Group>(context, { collection: 'groups', tid, range: rows.range, all }),
    findByName,
    findMany: (refs) =>
      'ids' in refs
        ? readMany(refs.ids, { one: get, all, keyOf: ({ id }) => id })
        : readMany(refs.names, { one: findByName, all, keyOf: ({ name }) => name }),

    async require(id) {
      const group = await get(id);
      if (group === undefined) throw new IdpError('not_found');
      return group;
    },

    async create(input) {
      checkInput(groupInput, input);
      await tenants.require(tid);
      const { id, name, permissionIds = [] } = input;
      await permissions.checkKnown(permissionIds);
      const record = newRecord(now, idFor(id), { name, permissionIds });
      return rows.insert(withEvents(record, event('GroupCreated', record.id)));
    },

    async update(id, patch, check) {
      checkInput(groupPatch, patch);
      if ((await rows.get(id)) && patch.permissionIds) await permissions.checkKnown(patch.permissionIds);
      return rows.update(id, (row) => {
        check?.(row);
        return changed(row, patched(now, row, patch), event('GroupUpdated', id));
      });
    },

    async remove(id, check) {
      await rows.remove(id, event('GroupRemoved', id), check);
      for (const { id: personId } of await persons.find('byGroup', [id])) {
        await persons.update(personId, (row) => {
          if (!row.user?.groupIds.includes(id)) return row;
          const groupIds = row.user.groupIds.filter((groupId) => groupId !== id);
          const left = pendingEvent(now, 'UserGroupsChanged', tid, { AggregateId: row.user.id, GroupIds: groupIds });
          return withEvents({ ...row, user: { ...row.user, groupIds }, updatedAt: new Date(now()) }, left);
        });
      }
    },
  };
}
