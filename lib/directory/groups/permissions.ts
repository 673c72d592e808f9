import type { Static } from '@sinclair/typebox';
import { IdpError } from '../../errors.js';
import type { Page } from '../../store/directory-store.js';
import { permissionMembers } from '../../store/records/organisations.js';
import type { Permission } from '../../store/records/records.js';
import { inputSchema, token } from '../../text/schemas.js';
import { createCachedCollection } from '../cached-collection.js';
import type { DirectoryContext } from '../context.js';
import { type CheckCurrent, checkInput, defined, newRecord, type Patch, patched, patchSchema } from '../input.js';
import { createNameList, type Listed, type ListQuery } from '../lists/list.js';
import { changed, pendingEvent, withEvents } from '../outbox/pending-events.js';
import { readMany } from '../read-many.js';

const permissionFields = inputSchema(permissionMembers);
const permissionPatch = patchSchema(permissionFields);
export const permissionInput = inputSchema({ id: token(), ...permissionMembers });
/** @interface */
export type PermissionFields = Static<typeof permissionFields>;
/** @interface */
export type PermissionInput = Static<typeof permissionInput>;

/** The catalogue of permissions, one for each instance. Groups refer to it. */
export interface Permissions {
  /** @throws IdpError `invalid_record`, `conflict`. */
  create(input: PermissionInput): Promise<Permission>;
  get(id: string): Promise<Permission | undefined>;
  /** @throws IdpError `not_found`. */
  require(id: string): Promise<Permission>;
  find(page?: Page): Promise<readonly Permission[]>;
  /** @throws IdpError `invalid_request`, `invalid_cursor`. */
  list(query?: ListQuery): Promise<Listed<Permission>>;
  /** @throws IdpError `not_found`, `invalid_record`. */
  update(id: string, patch: Patch<PermissionFields>, check?: CheckCurrent<Permission>): Promise<Permission>;
  /** Removes the permission from every group first. @throws IdpError `not_found`. */
  remove(id: string): Promise<void>;
  /** @throws IdpError `permission_unknown` with permissions that the catalogue does not have. */
  checkKnown(ids: readonly string[]): Promise<void>;
}

export function createPermissions(context: DirectoryContext): Permissions {
  const { collections, now } = context;
  const rows = createCachedCollection('permissions', collections.permissions, context);
  const groups = createCachedCollection('groups', collections.groups, context);
  const event = (type: 'PermissionCreated' | 'PermissionUpdated' | 'PermissionRemoved', id: string) =>
    pendingEvent(now, type, undefined, { AggregateId: id });
  const takeFromGroups = async (id: string): Promise<void> => {
    for (const group of await collections.groups.find({ byPermission: [id] })) {
      await groups.update(group.id, (row) =>
        changed(
          row,
          patched(now, row, { permissionIds: row.permissionIds.filter((permissionId) => permissionId !== id) }),
          pendingEvent(now, 'GroupUpdated', group.tid, { AggregateId: group.id }),
        ),
      );
    }
  };

  return {
    get: rows.get,
    require: rows.require,
    find: (page) => collections.permissions.find({}, page),
    list: createNameList<Permission>(context, {
      collection: 'permissions',
      range: collections.permissions.range,
      all: () => collections.permissions.find({}),
    }),
    async create(input) {
      checkInput(permissionInput, input);
      const { id, ...given } = input;
      return rows.insert(withEvents(newRecord(now, id, defined(given)), event('PermissionCreated', id)));
    },
    async update(id, patch, check) {
      checkInput(permissionPatch, patch);
      return rows.update(id, (row) => {
        check?.(row);
        return changed(row, patched(now, row, patch), event('PermissionUpdated', id));
      });
    },
    async remove(id) {
      await takeFromGroups(id);
      await rows.remove(id, event('PermissionRemoved', id));
      // The permission is taken from groups again, because a group may have got it in between.
      await takeFromGroups(id);
    },
    async checkKnown(ids) {
      const wanted = [...new Set(ids)];
      const records = await readMany(wanted, { one: rows.get, all: () => collections.permissions.find({}), keyOf: ({ id }) => id });
      const unknown = wanted.filter((_, index) => records[index] === undefined);
      if (unknown.length > 0) throw new IdpError('permission_unknown', { unknown });
    },
  };
}
