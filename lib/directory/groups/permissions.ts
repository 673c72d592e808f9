import { type Static, Type } from '@sinclair/typebox';
import { IdpError } from '../../errors.js';
import type { Page } from '../../store/directory-store.js';
import type { Permission } from '../../store/records.js';
import { createCachedCollection } from '../cached-collection.js';
import type { DirectoryContext } from '../context.js';
import { checkInput, defined, inputSchema, line, newRecord, type Patch, patched, patchSchema, token } from '../input.js';

const fields = { name: line(), description: Type.Optional(line(1000)) };
const permissionFields = inputSchema(fields);
const permissionPatch = patchSchema(permissionFields);
export const permissionInput = inputSchema({ id: token(), ...fields });
/** @interface */
export type PermissionFields = Static<typeof permissionFields>;
/** @interface */
export type PermissionInput = Static<typeof permissionInput>;

/** The catalogue of permissions, one per instance; groups refer to it. */
export interface Permissions {
  /** @throws IdpError `invalid_record`, `conflict`. */
  create(input: PermissionInput): Promise<Permission>;
  get(id: string): Promise<Permission | undefined>;
  /** @throws IdpError `not_found`. */
  require(id: string): Promise<Permission>;
  find(page?: Page): Promise<readonly Permission[]>;
  /** @throws IdpError `not_found`, `invalid_record`. */
  update(id: string, patch: Patch<PermissionFields>): Promise<Permission>;
  /** Takes it out of every group first. @throws IdpError `not_found`. */
  remove(id: string): Promise<void>;
  /** @throws IdpError `permission_unknown` with those that are not in the catalogue. */
  checkKnown(ids: readonly string[]): Promise<void>;
}

export function createPermissions({ collections, caches }: DirectoryContext): Permissions {
  const rows = createCachedCollection('permissions', collections.permissions, caches);
  const groups = createCachedCollection('groups', collections.groups, caches);
  return {
    get: rows.get,
    require: rows.require,
    find: (page) => collections.permissions.find({}, page),
    async create(input) {
      checkInput(permissionInput, input);
      const { id, ...given } = input;
      return rows.insert(newRecord(id, defined(given)));
    },
    async update(id, patch) {
      checkInput(permissionPatch, patch);
      return rows.update(id, (row) => patched(row, patch));
    },
    async remove(id) {
      await rows.remove(id);
      const holders = (await collections.groups.find({})).filter(({ permissionIds }) => permissionIds.includes(id));
      for (const group of holders) {
        await groups.update(group.id, (row) =>
          patched(row, { permissionIds: row.permissionIds.filter((permissionId) => permissionId !== id) }),
        );
      }
    },
    async checkKnown(ids) {
      const known = await Promise.all(ids.map(rows.get));
      const unknown = ids.filter((_, index) => known[index] === undefined);
      if (unknown.length > 0) throw new IdpError('permission_unknown', { unknown });
    },
  };
}
