/** Requests to the OAuth endpoints, and requests for the documents. */
import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { Agent, type Json, postForm } from '../../support/client/agent.js';
import { authorizationOf, introspect, isActive, obtainCode, redeem, refresh, revoke, userinfo } from '../../support/client/steps.js';
import { type Case, type FailingIdp, json, pushedFields, type Reply, tabOf } from './failing-idp.js';

/** Returns the case of a request to an OAuth endpoint. `right` checks the answer after the outage. */
const call = <T>(
  says: Case['says'],
  make: () => Promise<T>,
  during: (made: T) => Promise<Reply & { json: Json }>,
  right: (answer: { status: number; text: string; json: Json }) => void,
): Case => ({
  says,
  async prepare() {
    const made = await make();
    return { during: () => during(made), after: async () => right(await during(made)) };
  },
});
const is200 = ({ status }: { status: number }) => expect(status).toBe(200);

export function oauthCases(idp: FailingIdp): Readonly<Record<string, Case>> {
  const { service, alice, asserting, offline, push } = idp;
  const bearer = (token: string) => json(`${service.issuer}/connect/userinfo`, { authorization: `Bearer ${token}` });

  return {
    PAR: call(
      ['ok', 'json', 'json', 'ok', 'json'],
      async () => {},
      () => push(),
      ({ status }) => expect(status).toBe(201),
    ),
    'PAR, by assertion': call(
      ['json', 'json', 'json', 'ok', 'json'],
      async () => {},
      async () =>
        postForm(`${service.issuer}/connect/par`, { ...pushedFields, client_id: 'asserting', ...(await asserting().sign(service.issuer)) }),
      ({ status }) => expect(status).toBe(201),
    ),
    'token, a code': call(
      ['json', 'json', 'json', 'json', 'json'],
      () => obtainCode(service.issuer, tabOf(alice), 'web', { scope: 'openid offline_access' }),
      (code) => redeem(service.issuer, code),
      is200,
    ),
    'token, a code of a public client': call(
      ['json', 'json', 'json', 'json', 'json'],
      () => obtainCode(service.issuer, tabOf(alice), 'spa'),
      (code) => redeem(service.issuer, code),
      is200,
    ),
    'token, a refresh token': call(
      ['json', 'json', 'json', 'json', 'json'],
      () => offline(),
      ({ refresh_token: token }) => refresh(service.issuer, token),
      is200,
    ),
    'token, a refresh token for JWTs': call(
      ['json', 'json', 'json', 'json', 'json'],
      () => offline('jwt'),
      ({ refresh_token: token }) => refresh(service.issuer, token, 'jwt'),
      is200,
    ),
    'token, a refresh token just replaced': call(
      ['json', 'json', 'json', 'json', 'json'],
      async () => {
        const tokens = await offline();
        return { tokens, successor: (await refresh(service.issuer, tokens.refresh_token)).json.refresh_token };
      },
      ({ tokens }) => refresh(service.issuer, tokens.refresh_token),
      is200,
    ),
    'token, client credentials': call(
      ['ok', 'json', 'json', 'ok', 'json'],
      async () => {},
      () => postForm(`${service.issuer}/connect/token`, { grant_type: 'client_credentials' }, authorizationOf('service')),
      is200,
    ),
    'token, client credentials by assertion': call(
      ['json', 'json', 'json', 'ok', 'json'],
      async () => {},
      async () =>
        postForm(`${service.issuer}/connect/token`, { grant_type: 'client_credentials', ...(await asserting().sign(service.issuer)) }),
      is200,
    ),
    'token, a client that nobody asked for lately': call(
      // The service counts an unknown client as a wrong secret.
      ['ok', 'json', 'json', 'json', 'json'],
      async () => `never-seen-${randomUUID()}`,
      (client) => postForm(`${service.issuer}/connect/token`, { grant_type: 'client_credentials' }, authorizationOf(client)),
      ({ json: body }) => expect(body.error).toBe('invalid_client'),
    ),
    introspection: call(
      ['json', 'ok', 'json', 'json', 'json'],
      () => offline(),
      ({ access_token: token }) => introspect(service.issuer, token),
      ({ json: body }) => expect(body.active).toBe(true),
    ),
    'introspection of a refresh token': call(
      ['json', 'ok', 'json', 'json', 'json'],
      () => offline(),
      ({ refresh_token: token }) => introspect(service.issuer, token),
      ({ json: body }) => expect(body.active).toBe(true),
    ),
    'introspection of a JWT': call(
      ['json', 'ok', 'json', 'json', 'json'],
      () => offline('jwt'),
      ({ access_token: token }) => introspect(service.issuer, token, 'jwt'),
      ({ json: body }) => expect(body.active).toBe(true),
    ),
    'introspection by an API resource': call(
      ['json', 'ok', 'json', 'ok', 'json'],
      async () =>
        (await postForm(`${service.issuer}/connect/token`, { grant_type: 'client_credentials' }, authorizationOf('service'))).json,
      ({ access_token: token }) => introspect(service.issuer, token, 'orders'),
      ({ json: body }) => expect(body.active).toBe(true),
    ),
    'introspection, answered as a JWT': call(
      ['json', 'ok', 'json', 'json', 'json'],
      () => offline(),
      ({ access_token: token }) =>
        postForm(
          `${service.issuer}/connect/introspect`,
          { token },
          { ...authorizationOf('web'), accept: 'application/token-introspection+jwt' },
        ),
      ({ status, text }) => expect([status, text.split('.').length]).toEqual([200, 3]),
    ),
    'scope introspection': call(
      ['ok', 'ok', 'ok', 'json', 'json'],
      async () => (await userinfo(service.issuer, (await offline()).access_token)).json,
      ({ sub, tid }) => json(`${service.issuer}/connect/scope/introspect?${new URLSearchParams({ sub, tid })}`, authorizationOf('orders')),
      is200,
    ),
    revocation: {
      says: ['json', 'json', 'json', 'ok', 'json'],
      async prepare() {
        // The case has a grant of its own, because the revocation ends the grant.
        const tokens = await offline('web', new Agent());
        return {
          during: () => revoke(service.issuer, tokens.refresh_token),
          async after() {
            is200(await revoke(service.issuer, tokens.refresh_token));
            expect(await isActive(service.issuer, tokens.access_token)).toBe(false);
          },
        };
      },
    },
    userinfo: call(['json', 'ok', 'json', 'json', 'json'], offline, ({ access_token: token }) => bearer(token), is200),
    discovery: call(
      ['ok', 'ok', 'ok', 'ok', 'ok'],
      async () => {},
      () => json(`${service.issuer}/.well-known/openid-configuration`),
      is200,
    ),
    jwks: call(
      ['ok', 'ok', 'ok', 'ok', 'ok'],
      async () => {},
      () => json(`${service.issuer}/.well-known/openid-configuration/jwks`),
      is200,
    ),
  };
}
