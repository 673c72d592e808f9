import {
  type Account,
  defineOperation,
  IdpError,
  leftOutIn,
  type OperationRequest,
  pageOf,
  Type,
  writeJudged,
} from '../../../lib/extension-door.js';
import { mayEndLink } from '../privileges.js';
import { form } from './shape/forms.js';
import { userItem, userView } from './shape/user-forms.js';

const LINK = '/tenants/{tid}/users/{id}/link/{parentId}';
const write = { scope: 'idp.links:write' } as const;

const Linked = form({ userId: Type.String(), tid: Type.Optional(Type.String()) });
const Links = Type.Object(
  {
    parent: Type.Optional(Linked),
    children: Type.Array(Linked, { description: 'Child accounts in tenants that the caller administers.' }),
    unreadable: pageOf(Linked).properties.unreadable,
  },
  { $id: 'Links', additionalProperties: false },
);

type Params = { readonly tid: string; readonly id: string; readonly parentId: string };

/**
 * Returns the parent account, in any tenant. A parent account in a tenant that the caller does not administer is answered like an unknown parent account.
 * @throws IdpError `not_found`
 */
async function parentOf({ params, directory, administrator }: OperationRequest<Params>): Promise<Account> {
  await directory.forTenant(params.tid).users.require(params.id);
  const parent = await directory.accounts.findByOid(params.parentId);
  if (!parent || !administrator.administers(parent.tenant.id)) throw new IdpError('not_found');
  return parent;
}

export const links = [
  defineOperation({
    ...write,
    method: 'POST',
    path: LINK,
    summary: 'Links a user to a parent account, whose `sub` the user gets',
    answer: userItem,
    errors: ['link_self', 'link_chain', 'link_same_tenant', 'link_not_allowed', 'already_linked', 'link_privileged'],
    async handle(request) {
      const { params, directory } = request;
      const { person, tenant } = await parentOf(request);
      const { linking } = directory.forTenant(params.tid);
      return userView(await linking.link(params.id, { tid: tenant.id, userId: person.user.id }, directory.privileges.checkNone));
    },
  }),
  defineOperation({
    ...write,
    method: 'DELETE',
    path: LINK,
    summary: 'Ends an account link, and all sign-ins of the child account',
    answer: userItem,
    errors: ['not_linked', 'grant_exceeds_own'],
    async handle(request) {
      const { params, directory, administrator } = request;
      const parent = await directory.accounts.findByOid(params.parentId);
      // Callers of all tenants may end an account link to a parent account that no longer exists.
      if (!(parent ? administrator.administers(parent.tenant.id) : administrator.ofAllTenants)) throw new IdpError('not_found');
      const { linking, users } = directory.forTenant(params.tid);
      return userView(
        await writeJudged(await users.require(params.id), mayEndLink(request), (check) =>
          linking.unlink(params.id, params.parentId, check),
        ),
      );
    },
  }),
  defineOperation({
    method: 'GET',
    path: '/tenants/{tid}/users/{id}/links',
    scope: 'idp.links:read',
    summary: 'Lists the parent account and the child accounts of a user',
    answer: Links,
    async handle({ params, directory, administrator }) {
      const person = await directory.forTenant(params.tid).users.require(params.id);
      const { id, parentUserId } = person.user;
      const all = await directory.accounts.family(person);
      const family = all.filter(({ tenant }) => administrator.administers(tenant.id));
      const leftOut = await Promise.all(
        (leftOutIn(all).unreadable ?? []).map((row) => directory.unreadable({ collection: 'persons', id: row.id })),
      );
      const unreadable = leftOut.flatMap((row) =>
        row && (administrator.ofAllTenants || administrator.administers(String(row.tid))) ? [{ id: row.id, path: row.path }] : [],
      );
      const parent = family.find(({ person: { user } }) => user.id === parentUserId);
      return {
        ...(parentUserId !== undefined && { parent: { userId: parentUserId, ...(parent && { tid: parent.tenant.id }) } }),
        children: family
          .filter(({ person: { user } }) => user.parentUserId === id)
          .map(({ person: { user }, tenant }) => ({ userId: user.id, tid: tenant.id })),
        ...(unreadable.length > 0 && { unreadable }),
      };
    },
  }),
];
