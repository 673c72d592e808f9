import { defineOperation, type ExtensionContext, IdpError, instant, present, strict, Type } from '../../../lib/extension-door.js';
import { form } from './shape/forms.js';

const SESSIONS = '/tenants/{tid}/users/{id}/sessions';
const write = { scope: 'idp.sessions:write' } as const;

const Session = Type.Object(
  {
    id: Type.String(),
    inBrowser: Type.Boolean(),
    signedInAt: instant(),
    lastUsedAt: Type.Optional(instant()),
    expiresAt: instant(),
    amr: Type.Array(Type.String()),
    idp: Type.String(),
    browser: Type.Optional(Type.String()),
    system: Type.Optional(Type.String()),
    address: Type.Optional(Type.String()),
    act: Type.Optional(form({ oid: Type.String(), sub: Type.String(), tid: Type.String() })),
    clientIds: Type.Array(Type.String()),
  },
  { $id: 'Session', additionalProperties: false },
);

export const sessions = ({ sessions: all }: Pick<ExtensionContext, 'sessions'>) => [
  defineOperation({
    method: 'GET',
    path: SESSIONS,
    scope: 'idp.sessions:read',
    summary: 'Lists the sessions of a user, newest first',
    answer: Type.Object({ items: Type.Array(Session) }, strict),
    async handle({ params }) {
      const sessions = await all.list({ tid: params.tid, userId: params.id });
      return {
        items: sessions.map(({ id, inBrowser, signedInAt, lastUsedAt, expiresAt, amr, idp, browser, system, address, act, clientIds }) => ({
          id,
          inBrowser,
          signedInAt: signedInAt.toISOString(),
          ...present({ lastUsedAt: lastUsedAt?.toISOString() }),
          expiresAt: expiresAt.toISOString(),
          amr: [...amr],
          idp,
          ...present({ browser, system, address }),
          ...(act && { act: { oid: act.oid, sub: act.sub, tid: act.tid } }),
          clientIds: [...clientIds],
        })),
      };
    },
  }),
  defineOperation({
    ...write,
    method: 'DELETE',
    path: SESSIONS,
    summary: 'Ends all sign-ins of a user',
    handle: ({ params, by }) => all.endAll({ tid: params.tid, userId: params.id }, by),
  }),
  defineOperation({
    ...write,
    method: 'DELETE',
    path: `${SESSIONS}/{sessionId}`,
    summary: 'Ends one session of a user, with its grants',
    async handle({ params, by }) {
      if (!(await all.end({ tid: params.tid, userId: params.id }, params.sessionId, by))) throw new IdpError('not_found');
    },
  }),
];
