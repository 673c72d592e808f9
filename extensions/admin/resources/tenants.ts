import { defineOperation, IdpError, oneOf, recordForms, type Tenant } from '../../../lib/extension-door.js';
import { checkWeakening } from '../privileges.js';
import { crud, type Request } from './shape/crud.js';
import { itemOf, viewOf } from './shape/forms.js';

const status = oneOf(['active', 'disabled']);
const item = itemOf('Tenant', recordForms.tenant, [], { status });
const view = viewOf<Tenant>(item);

const switched = (verb: 'disable' | 'enable', summary: string) =>
  defineOperation({
    method: 'POST',
    path: `/tenants/{tid}/${verb}`,
    scope: 'idp.tenants:write',
    reach: 'instance',
    summary,
    answer: item,
    handle: async ({ params, directory }) => view(await directory.tenants[verb](params.tid)),
  });

type SignIn = NonNullable<Tenant['signIn']>;

/**
 * Returns whether the given policy accepts a sign-in that the former policy refused. Self-registration does not count, because it opens no existing
 * account. Account links do not count, because users prove both accounts of an account link.
 */
const isWeaker = (before: SignIn = {}, { requireMfa = false, methods }: SignIn = {}): boolean =>
  (before.requireMfa === true && !requireMfa) ||
  (before.methods !== undefined && (methods === undefined || methods.some((name) => !before.methods?.includes(name))));

interface Query {
  readonly limit?: number;
  readonly after?: string;
  readonly sort?: string;
  readonly name?: string;
  readonly status?: string;
}

/** Lists the few tenants of an administrator of single tenants. The cursor is the id of the last tenant. */
const ownTenants =
  ({ administrator: { account, client }, directory }: Request) =>
  async ({ limit = 50, after, name = '', sort = name === '' ? 'createdAt' : 'name', status: wanted }: Query) => {
    const ids = account ? [account.tenant.id] : client.adminTenants;
    const own = (await Promise.all(ids.map(directory.tenants.get))).flatMap((tenant) => tenant ?? []);
    const key = (tenant: Tenant) => (sort.endsWith('name') ? tenant.name.toLowerCase() : tenant.createdAt.toISOString()) + tenant.id;
    const sorted = own
      .filter((tenant) => tenant.name.toLowerCase().startsWith(name.toLowerCase()) && (wanted ?? tenant.status) === tenant.status)
      .sort((a, b) => (key(a) < key(b) ? -1 : 1) * (sort.startsWith('-') ? -1 : 1));
    const from = after === undefined ? 0 : sorted.findIndex(({ id }) => id === after) + 1;
    if (after !== undefined && from === 0) throw new IdpError('invalid_cursor');
    const items = sorted.slice(from, from + limit);
    const last = items.at(-1);
    return { items, ...(last && from + limit < sorted.length && { next: last.id }) };
  };

export const tenants = [
  ...crud<Tenant>({
    name: 'tenants',
    noun: 'a tenant',
    path: '/tenants',
    idParam: 'tid',
    item,
    view,
    query: recordForms.lists.status,
    listReach: 'any',
    form: recordForms.tenant,
    changeable: recordForms.tenant,
    errors: ['policy_privileged', 'tenant_name_taken'],
    async guard(request, tenant, members) {
      const after = (members.signIn ?? undefined) as SignIn | undefined;
      if (tenant && 'signIn' in members && (request.malformed || isWeaker(tenant.signIn, after))) await checkWeakening(request, tenant.id);
    },
    isRemovable: true,
    removeReach: 'instance',
    service: (request) => ({ ...request.directory.tenants, ...(request.administrator.ofAllTenants ? {} : { list: ownTenants(request) }) }),
  }),
  switched('disable', 'Disables a tenant, and ends all of its sign-ins'),
  switched('enable', 'Enables a tenant, so that its users can sign in again'),
];
