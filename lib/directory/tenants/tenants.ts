/**
 * Tenants, their subsidiaries, and their sign-in policy.
 *
 * `tenant-scope` is the only access to rows for a service that is bound to a tenant. Rows of other tenants do not exist for the service.
 */
import { type Static, Type } from '@sinclair/typebox';
import { IdpError } from '../../errors.js';
import type { Page } from '../../store/directory-store.js';
import { tenantMembers } from '../../store/records/organisations.js';
import type { Tenant } from '../../store/records/records.js';
import { comparedText } from '../../text/compared.js';
import { inputSchema } from '../../text/schemas.js';
import { createCachedCollection } from '../cached-collection.js';
import type { DirectoryContext } from '../context.js';
import { idFor, organisationKey } from '../identifiers.js';
import { type CheckCurrent, checkBranding, checkInput, defined, newRecord, type Patch, patched, patchSchema } from '../input.js';
import { createStatusList, type Listed, type StatusQuery } from '../lists/list.js';
import { changed, pendingEvent, withEvents } from '../outbox/pending-events.js';

const tenantFields = inputSchema(tenantMembers);
const tenantPatch = patchSchema(tenantFields);
export const tenantInput = inputSchema({ id: Type.Optional(Type.String()), ...tenantMembers });
/** @interface */
export type TenantFields = Static<typeof tenantFields>;
/** @interface */
export type TenantInput = Static<typeof tenantInput>;

export interface Tenants {
  /** @throws IdpError `invalid_record`, `tenant_name_taken`; `conflict` when another tenant has the id. */
  create(input: TenantInput): Promise<Tenant>;
  get(tid: string): Promise<Tenant | undefined>;
  /** Returns the result of {@link get}, if the cache has it. */
  peek(tid: string): Tenant | undefined;
  /** @throws IdpError `not_found`. */
  require(tid: string): Promise<Tenant>;
  find(page?: Page): Promise<readonly Tenant[]>;
  /** @throws IdpError `invalid_request`, `invalid_cursor`. */
  list(query?: StatusQuery): Promise<Listed<Tenant>>;
  /** @throws IdpError `not_found`, `invalid_record`, `tenant_name_taken`. */
  update(tid: string, patch: Patch<TenantFields>, check?: CheckCurrent<Tenant>): Promise<Tenant>;
  /** Disables the tenant: ends every sign-in of its users, notifies the clients, and refuses new sign-ins. @throws IdpError `not_found`. */
  disable(tid: string): Promise<Tenant>;
  /** @throws IdpError `not_found`. */
  enable(tid: string): Promise<Tenant>;
  /**
   * Removes the tenant. From this moment, the tenant does not exist, and nobody signs in to it. The data of the tenant is removed in the
   * background; the event `TenantRemoved` reports the end. A client or an API resource that was allowed only this tenant is then allowed none.
   * @throws IdpError `not_found`.
   */
  remove(tid: string): Promise<void>;
}

export function createTenants(context: DirectoryContext): Tenants {
  const { collections, withCutoff, means, by, now } = context;
  const rows = createCachedCollection('tenants', collections.tenants, context);
  const update = (tid: string, change: (row: Tenant) => Tenant) =>
    rows.update(tid, (row) => changed(row, change(row), pendingEvent(now, 'TenantUpdated', tid, { AggregateId: tid })));
  const checkMethods = async (tid: string, methods: readonly string[] = []): Promise<void> => {
    const offered = await Promise.all(methods.map((method) => means.offers(method, tid)));
    const unknown = offered.indexOf(false);
    if (unknown >= 0)
      throw new IdpError('invalid_record', { path: `/signIn/methods/${unknown}`, expected: 'a sign-in method that exists' });
  };
  /** Explains a conflict, because the store does not report whether the id or the name was a duplicate. */
  const explained = (uniqueName: string) => async (error: unknown) => {
    const isName = IdpError.is(error, 'conflict') && (await collections.tenants.has({ byUniqueName: [uniqueName] }));
    throw isName ? new IdpError('tenant_name_taken', { path: '/name' }) : error;
  };
  /** Returns tenants of this name without {@link Tenant.uniqueName}, which the unique index does not find. */
  const unindexedNamesakes = async (name: string): Promise<readonly string[]> => {
    const from = comparedText(name);
    const namesakes = await collections.tenants.range({ index: 'inOrderOfName', within: [], from, below: `${from}\u0001`, limit: 100 });
    return namesakes.filter(({ uniqueName }) => uniqueName === undefined).map(({ id }) => id);
  };
  return {
    get: rows.get,
    peek: rows.peek,
    require: rows.require,
    find: (page) => collections.tenants.find({}, page),
    list: createStatusList<Tenant>(context, 'tenants', collections.tenants),
    disable: (tid) =>
      withCutoff({ tid }, (nextNotBefore) =>
        update(tid, (row) => (row.status === 'disabled' ? row : patched(now, row, { status: 'disabled', notBefore: nextNotBefore(row) }))),
      ),
    enable: (tid) => update(tid, (row) => patched(now, row, { status: 'active' })),
    async create(input) {
      checkInput(tenantInput, input);
      checkBranding(input.branding, '/branding');
      const { id: givenId, ...given } = input;
      const id = idFor(givenId);
      const uniqueName = uniqueNameOf(input.name);
      await checkMethods(id, input.signIn?.methods);
      if (givenId !== undefined && (await collections.removals.has(id))) throw new IdpError('conflict', { path: '/id' });
      if ((await unindexedNamesakes(input.name)).length > 0) throw new IdpError('tenant_name_taken', { path: '/name' });
      const tenant = newRecord(now, id, { ...defined(given), uniqueName, status: 'active' as const });
      const created = pendingEvent(now, 'TenantCreated', tenant.id, { AggregateId: tenant.id });
      return rows.insert(withEvents(tenant, created)).catch(explained(uniqueName));
    },
    async remove(tid) {
      await rows.require(tid);
      // If the node stops after this write, another node completes the removal. If it stops before, the tenant is unchanged.
      const removal = await collections.removals.insert(newRecord(now, tid, { by })).catch(IdpError.unless('conflict'));
      if (removal === undefined) throw new IdpError('not_found');
      await collections.tenants.retire(tid, []);
    },
    async update(tid, patch, check) {
      checkInput(tenantPatch, patch);
      checkBranding(patch.branding, '/branding');
      await checkMethods(tid, patch.signIn?.methods);
      const { name } = patch;
      const uniqueName = name === undefined ? undefined : uniqueNameOf(name);
      const namesakes = name === undefined ? [] : await unindexedNamesakes(name);
      return update(tid, (row) => {
        check?.(row);
        if (name === undefined || name === row.name) return patched(now, row, patch);
        if (namesakes.some((id) => id !== tid)) throw new IdpError('tenant_name_taken', { path: '/name' });
        return patched(now, row, { ...patch, uniqueName });
      }).catch((error: unknown) => {
        throw IdpError.is(error, 'conflict') ? new IdpError('tenant_name_taken', { path: '/name' }) : error;
      });
    },
  };
}

/** @throws IdpError `invalid_record` for a name that is empty in its compared form, because it has only ignored characters. */
function uniqueNameOf(name: string): string {
  const key = organisationKey(name);
  if (key === '')
    throw new IdpError('invalid_record', { path: '/name', expected: 'a name with letters, digits or signs other than full stops' });
  return key;
}
