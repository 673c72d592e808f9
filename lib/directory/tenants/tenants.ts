/**
 * Tenants, their subsidiaries, and their demands on a sign-in.
 *
 * `tenant-scope` is the only way from a service that is bound to a tenant to rows of a collection: a row of another tenant
 * does not exist for it.
 */
import { type Static, Type } from '@sinclair/typebox';
import { IdpError } from '../../errors.js';
import type { Page } from '../../store/directory-store.js';
import type { Tenant } from '../../store/records.js';
import { createCachedCollection } from '../cached-collection.js';
import type { DirectoryContext } from '../context.js';
import { idFor } from '../identifiers.js';
import { branding, checkInput, defined, inputSchema, line, newRecord, type Patch, patched, patchSchema, token } from '../input.js';

const fields = {
  name: line(),
  organisationNumber: Type.Optional(line()),
  signIn: Type.Optional(
    inputSchema({
      methods: Type.Optional(
        // Whether there are such methods is looked up when the record is written.
        Type.Array(token(), { minItems: 1, uniqueItems: true }),
      ),
      requireMfa: Type.Optional(Type.Boolean()),
      selfRegistration: Type.Optional(Type.Boolean()),
    }),
  ),
  branding: Type.Optional(branding()),
  locale: Type.Optional(Type.String({ pattern: '^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$' })),
};
const tenantFields = inputSchema(fields);
const tenantPatch = patchSchema(tenantFields);
export const tenantInput = inputSchema({ id: Type.Optional(Type.String()), ...fields });
/** @interface */
export type TenantFields = Static<typeof tenantFields>;
/** @interface */
export type TenantInput = Static<typeof tenantInput>;

export interface Tenants {
  /** @throws IdpError `invalid_record`, `conflict`. */
  create(input: TenantInput): Promise<Tenant>;
  get(tid: string): Promise<Tenant | undefined>;
  /** What {@link get} answers, if it is at hand. */
  peek(tid: string): Tenant | undefined;
  /** @throws IdpError `not_found`. */
  require(tid: string): Promise<Tenant>;
  find(page?: Page): Promise<readonly Tenant[]>;
  /** @throws IdpError `not_found`, `invalid_record`. */
  update(tid: string, patch: Patch<TenantFields>): Promise<Tenant>;
  /** Ends every sign-in of the tenant's users, tells the clients, and allows no other. @throws IdpError `not_found`. */
  disable(tid: string): Promise<Tenant>;
  /** @throws IdpError `not_found`. */
  enable(tid: string): Promise<Tenant>;
}

export function createTenants({ collections, caches, withCutoff, means }: DirectoryContext): Tenants {
  const rows = createCachedCollection('tenants', collections.tenants, caches);
  const checkMethods = async (methods: readonly string[] = []): Promise<void> => {
    const offered = await Promise.all(methods.map((method) => means.offers(method)));
    const unknown = offered.indexOf(false);
    if (unknown >= 0)
      throw new IdpError('invalid_record', { path: `/signIn/methods/${unknown}`, expected: 'a sign-in method that exists' });
  };
  return {
    get: rows.get,
    peek: rows.peek,
    require: rows.require,
    find: (page) => collections.tenants.find({}, page),
    disable: (tid) =>
      withCutoff({ tid }, (nextNotBefore) =>
        rows.update(tid, (row) => (row.status === 'disabled' ? row : patched(row, { status: 'disabled', notBefore: nextNotBefore(row) }))),
      ),
    enable: (tid) => rows.update(tid, (row) => patched(row, { status: 'active' })),
    async create(input) {
      checkInput(tenantInput, input);
      await checkMethods(input.signIn?.methods);
      const { id, ...given } = input;
      return rows.insert(newRecord(idFor(id), { ...defined(given), status: 'active' as const }));
    },
    async update(tid, patch) {
      checkInput(tenantPatch, patch);
      await checkMethods(patch.signIn?.methods);
      return rows.update(tid, (row) => patched(row, patch));
    },
  };
}
