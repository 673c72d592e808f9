/** Service specification 4.2, 4.4 and design §4: the registration of a client is enforced at every step, not only when a sign-in begins. */
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { Agent, type Answer, authorizeUrl, createPkce, type Json, obtainTokens, postForm, signIn } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { credentialsOf, type Endpoints, endpointsOf, isActive } from '../../support/client/endpoints.js';
import { formTypes } from '../../support/requests/both-doors.js';
import type { TestIdp } from '../../support/service/idp.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

let endpoints: Endpoints;
let globex: string;
const allowedScopes = ['openid', 'profile', 'orders.read'];
const metadata = {
  redirect_uris: [redirectUri],
  grant_types: ['authorization_code', 'refresh_token', 'implicit'],
  response_types: ['code', 'token'],
};
const clients = ['by-reference', 'by-jwt'] as const;
const service = useIdp();
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  globex = (await service.idp.directory.tenants.find()).find(({ name }) => name === 'Globex')?.id ?? '';
  for (const id of clients)
    await service.idp.directory.clients.create({
      id,
      name: 'Changes',
      secret: `${id}-secret`,
      metadata,
      allowedScopes,
      accessTokenType: id === 'by-jwt' ? 'jwt' : 'reference',
      idTokenClaims: 'scopes',
    });
});

beforeEach(async () => {
  for (const id of clients) await change(id, { metadata, allowedScopes, allowedTenants: null });
});

type Change = Parameters<TestIdp['idp']['directory']['clients']['update']>[1];
const change = (client: string, patch: Change) => service.idp.directory.clients.update(client, patch);

const pkce = createPkce();
const parameters = { scope: 'openid profile orders.read offline_access', code_challenge: pkce.challenge, code_challenge_method: 'S256' };
const token = (client: string, fields: Record<string, string>, type: string) =>
  postForm(`${service.issuer}/connect/token`, fields, { ...credentialsOf(client), 'content-type': type });

/** Returns a code and a refresh token, which are used after the change. */
async function inHand(client: string): Promise<{ tokens: Json; uses: readonly Record<string, string>[] }> {
  const { agent, tokens } = await obtainTokens(service.issuer, { client, secret: `${client}-secret`, scope: parameters.scope });
  const { code = '' } = membersOf(await agent.follow(await agent.get(authorizeUrl(service.issuer, { client_id: client, ...parameters }))));
  return {
    tokens,
    uses: [
      { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: pkce.verifier },
      { grant_type: 'refresh_token', refresh_token: tokens.refresh_token },
    ],
  };
}

const ways = clients.flatMap((client) => formTypes.map((type) => [client, type] as const));

describe('4.4 a client that is allowed less than before', () => {
  test.each(ways)('gets tokens for the scopes that are left: %s, %s', async (client, type) => {
    const { tokens, uses } = await inHand(client);
    await change(client, { allowedScopes: ['openid'] });
    const asked = { token: tokens.access_token };
    const { json } = await postForm(`${service.issuer}/connect/introspect`, asked, { ...credentialsOf(client), 'content-type': type });
    expect(json).toMatchObject({ active: true, scope: 'openid offline_access', aud: [service.issuer] });
    for (const use of uses) {
      const { json } = await token(client, use, type);
      expect(json).toMatchObject({ scope: 'openid offline_access', access_token: expect.any(String) });
      expect(decodeJwt(json.id_token)).not.toHaveProperty('name');
      expect((await endpoints.introspect(json.access_token, client)).json).toMatchObject({
        scope: 'openid offline_access',
        aud: [service.issuer],
      });
    }
    for (const query of ['', '?unusual=yes']) {
      const headers = { authorization: `Bearer ${tokens.access_token}` };
      expect(await (await fetch(`${service.issuer}/connect/userinfo${query}`, { headers })).json()).not.toHaveProperty('name');
    }
  });

  test.each(ways)('gets none for users of tenants that may no longer sign in to it: %s, %s', async (client, type) => {
    const { tokens, uses } = await inHand(client);
    await change(client, { allowedTenants: [globex] });
    for (const use of uses) expect(await token(client, use, type)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    expect(await isActive(endpoints, tokens.access_token, client)).toBe(false);
    expect((await endpoints.userinfo(tokens.access_token)).status).toBe(401);
    await change(client, { allowedTenants: null });
    expect(await isActive(endpoints, tokens.access_token, client)).toBe(true);
  });

  test.each(ways)('gets none of an API that is gone: %s, %s', async (client, type) => {
    const { uses } = await inHand(client);
    await service.idp.directory.apiResources.update('orders', { status: 'disabled' });
    for (const use of uses) expect((await token(client, use, type)).json).toMatchObject({ scope: 'openid profile offline_access' });
    await service.idp.directory.apiResources.update('orders', { status: 'active' });
  });
});

describe('4.2 a client that is changed while somebody signs in', () => {
  async function signInDuring(changing: () => Promise<unknown>, more: Record<string, string | undefined> = {}): Promise<Answer> {
    const agent = new Agent();
    const page = await agent.follow(await agent.get(authorizeUrl(service.issuer, { client_id: 'by-reference', ...parameters, ...more })));
    const password = await agent.submit(page, { identifier: 'alice@acme.test' });
    await changing();
    return agent.follow(await agent.submit(password, { password: 'alice' }));
  }

  test('nobody is sent to a redirect URI that is no longer registered', async () => {
    const moved = { ...metadata, redirect_uris: ['https://elsewhere.test/callback'] };
    const { status, location } = await signInDuring(() => change('by-reference', { metadata: moved }));
    expect([status, location]).toEqual([400, undefined]);
  });

  test('nor with an error: of who does not allow it', async () => {
    await change('by-reference', { requireConsent: true });
    const agent = new Agent();
    const page = await signIn(agent, authorizeUrl(service.issuer, { client_id: 'by-reference', ...parameters, scope: 'openid profile' }));
    await change('by-reference', { metadata: { ...metadata, redirect_uris: ['https://elsewhere.test/callback'] } });
    const { status, location } = await agent.follow(await agent.submit(page, { decision: 'deny' }));
    expect([status, location]).toEqual([400, undefined]);
    await change('by-reference', { requireConsent: false, metadata });
  });

  test('a response type that is no longer registered is refused', async () => {
    const answer = await signInDuring(() => change('by-reference', { metadata: { ...metadata, response_types: ['code'] } }), {
      response_type: 'token',
      scope: 'openid',
    });
    expect(membersOf(answer)).toMatchObject({ error: 'unauthorized_client', iss: service.issuer });
    expect(membersOf(answer)).not.toHaveProperty('access_token');
  });

  test('scopes that it lost meanwhile are not in the token', async () => {
    const members = membersOf(
      await signInDuring(() => change('by-reference', { allowedScopes: ['openid'] }), { response_type: 'token', scope: 'openid profile' }),
    );
    expect(members).toMatchObject({ scope: 'openid', access_token: expect.any(String) });
    expect((await endpoints.userinfo(members.access_token ?? '')).json).not.toHaveProperty('name');
  });

  test('one that was disabled gets nothing', async () => {
    const { status, location } = await signInDuring(() => change('by-reference', { status: 'disabled' }));
    await change('by-reference', { status: 'active' });
    expect([status, location]).toEqual([400, undefined]);
  });
});

test('4.4 nothing here is worth a line in the log', () => {
  expect(service.logged).toEqual([]);
});
