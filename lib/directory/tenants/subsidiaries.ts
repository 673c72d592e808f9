import { type Static, Type } from '@sinclair/typebox';
import { IdpError } from '../../errors.js';
import type { Page } from '../../store/directory-store.js';
import { collections as specs } from '../../store/records/collections.js';
import { subsidiaryMembers } from '../../store/records/organisations.js';
import type { Subsidiary } from '../../store/records/records.js';
import { inputSchema } from '../../text/schemas.js';
import type { DirectoryContext } from '../context.js';
import { idFor } from '../identifiers.js';
import { type CheckCurrent, checkInput, defined, newRecord, type Patch, patched, patchSchema } from '../input.js';
import { createNameList, type Listed, type ListQuery } from '../lists/list.js';
import { changed, pendingEvent, withEvents } from '../outbox/pending-events.js';
import { createTenantScope } from './tenant-scope.js';
import type { Tenants } from './tenants.js';

const subsidiaryFields = inputSchema(subsidiaryMembers);
const subsidiaryPatch = patchSchema(subsidiaryFields);
export const subsidiaryInput = inputSchema({ id: Type.Optional(Type.String()), ...subsidiaryMembers });
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
  /** @throws IdpError `invalid_request`, `invalid_cursor`. */
  list(query?: ListQuery): Promise<Listed<Subsidiary>>;
  /** @throws IdpError `not_found`, `invalid_record`. */
  update(id: string, patch: Patch<SubsidiaryFields>, check?: CheckCurrent<Subsidiary>): Promise<Subsidiary>;
  /** Removes a subsidiary. The persons of the subsidiary then belong to the tenant itself. @throws IdpError `not_found`. */
  remove(id: string): Promise<void>;
}

export function createSubsidiaries(context: DirectoryContext, tenants: Tenants, tid: string): Subsidiaries {
  const { collections, now } = context;
  const rows = createTenantScope(collections.subsidiaries, specs.subsidiaries, tid);
  const event = (type: 'SubsidiaryCreated' | 'SubsidiaryUpdated' | 'SubsidiaryRemoved', id: string) =>
    pendingEvent(now, type, tid, { AggregateId: id });
  return {
    get: rows.get,
    find: (page) => rows.find('byTenant', [], page),
    list: createNameList<Subsidiary>(context, { collection: 'subsidiaries', tid, range: rows.range, all: () => rows.find('byTenant', []) }),

    async require(id) {
      const subsidiary = await rows.get(id);
      if (subsidiary === undefined) throw new IdpError('not_found');
      return subsidiary;
    },

    async create(input) {
      checkInput(subsidiaryInput, input);
      await tenants.require(tid);
      const { id, ...given } = input;
      const record = newRecord(now, idFor(id), defined(given));
      return rows.insert(withEvents(record, event('SubsidiaryCreated', record.id)));
    },

    async update(id, patch, check) {
      checkInput(subsidiaryPatch, patch);
      return rows.update(id, (row) => {
        check?.(row);
        return changed(row, patched(now, row, patch), event('SubsidiaryUpdated', id));
      });
    },

    remove: (id) => rows.remove(id, event('SubsidiaryRemoved', id)),
  };
}
