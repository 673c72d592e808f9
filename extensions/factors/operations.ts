/** Factors in the admin API: a help desk lists them, and removes them when a user has lost a phone. */
import {
  type Account,
  defineErrors,
  defineOperation,
  type ExtensionContext,
  IdpError,
  type Operation,
  type OperationRequest,
  oneOf,
  strict,
  Type,
} from '../../lib/extension-door.js';
import { describedFactor, factors } from './records.js';
import type { UserFactors } from './user-factors.js';

const text = () => Type.String();
const Factor = Type.Object(
  {
    id: text(),
    kind: oneOf(['totp', 'passkey', 'recovery']),
    name: Type.Optional(Type.String()),
    createdAt: Type.String({ description: 'ISO 8601' }),
    lastUsedAt: Type.Optional(Type.String({ description: 'ISO 8601' })),
    codesLeft: Type.Optional(Type.Integer({ description: 'Number of unused recovery codes.' })),
  },
  { $id: 'Factor', additionalProperties: false },
);

export const errors = defineErrors({
  factor_privileged: {
    status: 403,
    description: 'The user may do more in the admin API than the caller. Ask an administrator who may do as much.',
  },
});

const path = '/tenants/{tid}/users/{id}/factors';
const write = 'idp.factors:write';

type Request = Pick<OperationRequest, 'directory' | 'administrator' | 'by'> & {
  readonly params: { readonly tid: string; readonly id: string };
};

/**
 * Returns the user if the user belongs to the tenant. A linked user uses the factors of its parent account, which are in the tenant of the parent account.
 */
async function ownerIn({ directory, params: { tid, id } }: Request): Promise<Account> {
  const account = await directory.accounts.findByOid(id);
  if (account?.tenant.id !== tid) throw new IdpError('not_found');
  return account;
}

export const factorOperations = ({ records: { collection } }: ExtensionContext, userFactors: UserFactors): readonly Operation[] => {
  const remove = async (request: Request, id?: string): Promise<void> => {
    const owner = await ownerIn(request);
    // Without a factor, a password is enough to sign in as the user.
    if (!(await request.directory.privileges.mayBecome(request.administrator, owner.person))) throw errors('factor_privileged');
    await userFactors.removeFor(owner, id, request.by);
  };
  return [
    defineOperation({
      method: 'GET',
      path,
      scope: 'idp.factors:read',
      summary: 'Lists the second factors and passkeys of a user',
      answer: Type.Object(
        {
          items: Type.Array(Factor),
          unreadable: Type.Optional(
            Type.Array(text(), {
              description: 'Ids of factors with unreadable records. Each counts as a factor that nobody can prove, until it is removed.',
            }),
          ),
        },
        strict,
      ),
      async handle(request) {
        const { all, refused, unreadable } = await userFactors.load(await ownerIn(request));
        return { items: [...all, ...refused].map(describedFactor), ...(unreadable.length > 0 ? { unreadable: [...unreadable] } : {}) };
      },
    }),
    defineOperation({
      method: 'DELETE',
      path,
      scope: write,
      summary: 'Removes all factors of a user, and signs the user out everywhere',
      errors: ['factor_privileged'],
      handle: (request) => remove(request),
    }),
    defineOperation({
      method: 'DELETE',
      path: `${path}/{factorId}`,
      scope: write,
      summary: 'Removes a factor of a user, and signs the user out everywhere',
      errors: ['factor_privileged'],
      record: { collection: factors.name, param: 'factorId' },
      handle: (request) => remove(request, request.params.factorId),
      // A malformed record that names no readable user may be the factor of any user.
      async removeUnreadable({ administrator, params: { tid, factorId } }) {
        if (!administrator.ofAllTenants) throw new IdpError('not_found');
        await collection(factors, tid).remove(factorId);
      },
    }),
  ];
};
