import { type Static, Type } from '@sinclair/typebox';
import { IdpError } from '../../errors.js';
import { collections as specs } from '../../store/collections.js';
import type { Page } from '../../store/directory-store.js';
import type { Subsidiary } from '../../store/records.js';
import type { DirectoryContext } from '../context.js';
import { idFor } from '../identifiers.js';
import { checkInput, defined, inputSchema, line, newRecord, type Patch, patched, patchSchema } from '../input.js';
import { createTenantScope } from './tenant-scope.js';
import type { Tenants } from './tenants.js';

const fields = { name: line(), organisationNumber: Type.Optional(line()) };
const subsidiaryFields = inputSchema(fields);
const subsidiaryPatch = patchSchema(subsidiaryFields);
export const subsidiaryInput = inputSchema({ id: Type.Optional(Type.String()), ...fields });
/** @interface */
export type SubsidiaryFields = Static<typeof subsidiaryFields>;
/** @interface */
export type SubsidiaryInput = Static<typeof subsidiaryInput>;

export interface Subsidiaries {
  /** @throws IdpError `invalid_record`, `conflict`. */
  create(input: SubsidiaryInput): Promise<Subsidiary>;
  get(id: string): Promise<Subsidiary | undefined>;
  /** @throws IdpError `not_found`. */
  require(id: string): Promise<Subsidiary>;
  find(page?: Page): Promise<readonly Subsidiary[]>;
  /** @throws IdpError `not_found`, `invalid_record`. */
  update(id: string, patch: Patch<SubsidiaryFields>): Promise<Subsidiary>;
  /** Persons assigned to it count as the tenant's own. @throws IdpError `not_found`. */
  remove(id: string): Promise<void>;
}

export function createSubsidiaries({ collections, caches }: DirectoryContext, tenants: Tenants, tid: string): Subsidiaries {
  const rows = createTenantScope(collections.subsidiaries, specs.subsidiaries, tid);
  return {
    get: rows.get,
    find: (page) => rows.find('byTenant', [], page),

    async require(id) {
      const subsidiary = await rows.get(id);
      if (subsidiary === undefined) throw new IdpError('not_found');
      return subsidiary;
    },

    async create(input) {
      checkInput(subsidiaryInput, input);
      await tenants.require(tid);
      const { id, ...given } = input;
      const subsidiary = await rows.insert(newRecord(idFor(id), defined(given)));
      await caches.changed('subsidiaries');
      return subsidiary;
    },

    async update(id, patch) {
      checkInput(subsidiaryPatch, patch);
      const subsidiary = await rows.update(id, (row) => patched(row, patch));
      await caches.changed('subsidiaries');
      return subsidiary;
    },

    async remove(id) {
      await rows.remove(id);
      await caches.changed('subsidiaries');
    },
  };
}
