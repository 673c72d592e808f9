import { defineOperation, IdpError, instant, leftOutIn, pageOf, strict, Type } from '../../../lib/extension-door.js';

const CONSENTS = '/tenants/{tid}/users/{id}/consents';

const Consent = Type.Object(
  {
    clientId: Type.String(),
    scopes: Type.Array(Type.String()),
    claims: Type.Optional(Type.Array(Type.String(), { description: 'Claims that the client requested individually.' })),
    createdAt: instant(),
    updatedAt: instant(),
  },
  { $id: 'Consent', additionalProperties: false },
);

const { items, unreadable } = pageOf(Consent).properties;

export const consents = [
  defineOperation({
    method: 'GET',
    path: CONSENTS,
    scope: 'idp.consents:read',
    summary: 'Lists the consents of a user',
    answer: Type.Object({ items, unreadable }, strict),
    async handle({ params, directory }) {
      await directory.forTenant(params.tid).users.require(params.id);
      const all = await directory.consents.find(params.id);
      return {
        items: all.map(({ clientId, scopes, claims, createdAt, at }) => ({
          clientId,
          scopes: [...scopes],
          ...(claims && { claims: [...claims] }),
          createdAt: createdAt.toISOString(),
          updatedAt: at.toISOString(),
        })),
        ...leftOutIn(all),
      };
    },
  }),
  defineOperation({
    method: 'DELETE',
    path: `${CONSENTS}/{clientId}`,
    scope: 'idp.consents:write',
    summary: 'Withdraws a consent of a user, ends the grants and tokens of the client for this user, and notifies the client',
    async handle({ params, directory }) {
      await directory.forTenant(params.tid).users.require(params.id);
      if (!(await directory.consents.withdraw(params.id, params.clientId))) throw new IdpError('not_found');
    },
  }),
];
