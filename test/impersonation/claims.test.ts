/**
 * Service specification 4.2: `act` holds `oid`, `sub` and `tid` of the impersonating user. Issue 15: the answers with `act`, and the
 * answers without.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { Agent, postForm, signIn } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { credentialsOf } from '../support/client/endpoints.js';
import { authorizationOf, introspect, userinfo } from '../support/client/steps.js';
import type { TestIdpOptions } from '../support/service/idp.js';
import { redirectUri, testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { actAs } from '../support/sign-in/impersonation.js';
import { impersonationIn } from '../support/sign-in/impersonation-session.js';

const code = { redirect_uris: [redirectUri], grant_types: ['authorization_code'] };
const allowedScopes = ['openid', 'profile', 'orders.read'];
const seedWith = (jwtUserinfo: boolean) => ({
  ...testSeed,
  clients: [
    ...testSeed.clients,
    {
      id: 'jwt-userinfo',
      name: 'Signed userinfo',
      secret: 'jwt-userinfo-secret',
      metadata: { ...code, ...(jwtUserinfo && { userinfo_signed_response_alg: 'RS256' }) },
      allowedScopes,
    },
    {
      id: 'pairwise-jwt',
      name: 'Pairwise, with JWTs',
      secret: 'pairwise-jwt-secret',
      metadata: { ...code, subject_type: 'pairwise' },
      allowedScopes,
      accessTokenType: 'jwt' as const,
      introspects: 'all' as const,
    },
    {
      id: 'hybrid',
      name: 'Hybrid',
      secret: 'hybrid-secret',
      metadata: { ...code, grant_types: ['authorization_code', 'implicit'], response_types: ['code id_token'] },
      allowedScopes,
    },
  ],
});
const LASTS_MS = 120_000;

describe.each([
  ['tokens minted here', {}],
  [
    'tokens minted by oidc-provider',
    { configure: (configuration) => configuration, features: { claimsParameter: { enabled: true }, jwtUserinfo: { enabled: true } } },
  ],
] as readonly (readonly [string, TestIdpOptions])[])('act, %s', (door, options) => {
  const isTheirs = door.includes('oidc-provider');
  const service = useIdp({ seed: seedWith(isTheirs), extensions: [actAs({ lasts: LASTS_MS })], ...options });
  const { act, silently, redeem, known, url } = impersonationIn(service);
  let agent: Agent;
  let bob: Awaited<ReturnType<typeof known>>;
  let actor: Awaited<ReturnType<typeof known>>;
  let end: number;
  beforeAll(async () => {
    [bob, actor] = [await known('bob@globex.test'), await known('alice@acme.test')];
    ({ agent } = await act());
    end = Math.ceil((Date.now() + LASTS_MS) / 1000);
  });
  const tokensOf = async (client = 'web', parameters: Record<string, string> = {}) =>
    (await redeem(await silently(agent, { client_id: client, scope: 'openid profile', ...parameters }), client)).json;

  test('is in the ID token, userinfo, introspection and a JWT of it, all three members of it and no more', async () => {
    const tokens = await tokensOf('web', { scope: 'openid profile orders.read' });
    expect(decodeJwt(tokens.id_token)).toMatchObject({ sub: bob.sub, amr: ['pwd', 'imp'] });
    expect(decodeJwt(tokens.id_token).act).toEqual(actor);
    expect((await userinfo(service.issuer, tokens.access_token)).json.act).toEqual(actor);
    for (const caller of ['web', 'orders']) {
      expect((await introspect(service.issuer, tokens.access_token, caller)).json).toMatchObject({
        active: true,
        sub: bob.sub,
        act: actor,
      });
      const headers = { ...authorizationOf(caller), accept: 'application/token-introspection+jwt' };
      const signed = await postForm(`${service.issuer}/connect/introspect`, { token: tokens.access_token }, headers);
      expect(decodeJwt(signed.text).token_introspection).toMatchObject({ active: true, act: actor });
    }
  });

  test('is in JWT access tokens, and in what is introspected of them', async () => {
    const { access_token: token } = await tokensOf('jwt', { scope: 'openid orders.read' });
    expect(decodeJwt(token)).toMatchObject({ sub: bob.sub, aud: ['orders'], act: actor });
    expect((await introspect(service.issuer, token, 'orders')).json).toMatchObject({ active: true, act: actor });
  });

  test('is in the ID token of the authorization response', async () => {
    const { location = '' } = await silently(agent, { client_id: 'hybrid', scope: 'openid', response_type: 'code id_token', nonce: 'n' });
    const members = new URLSearchParams(new URL(location).hash.slice(1));
    expect(decodeJwt(members.get('id_token') ?? '').act).toEqual(actor);
    expect(decodeJwt(members.get('id_token') ?? '').exp).toBeLessThanOrEqual(end);
  });

  test('is not in scope introspection, which speaks of a user and not of a sign-in', async () => {
    const query = new URLSearchParams({ sub: bob.sub, scope: 'profile' });
    const answer = await fetch(`${service.issuer}/connect/scope/introspect?${query}`, { headers: credentialsOf('web') });
    expect(answer.status).toBe(200);
    const about = await answer.json();
    expect(about).toMatchObject({ sub: bob.sub });
    expect(about).not.toHaveProperty('act');
  });

  test('a pairwise client sees its own pseudonyms of who acts, wherever it looks', async () => {
    const honest = new Agent();
    const answer = await signIn(honest, url({ client_id: 'pairwise-jwt', scope: 'openid profile' }));
    const { sub: pseudonym } = decodeJwt((await redeem(answer, 'pairwise-jwt')).json.id_token);
    expect(pseudonym).not.toBe(actor.sub);
    const seen = { oid: pseudonym, sub: pseudonym, tid: actor.tid };
    const tokens = await tokensOf('pairwise-jwt', { scope: 'openid profile orders.read' });
    expect(decodeJwt(tokens.id_token).act).toEqual(seen);
    expect(decodeJwt(tokens.access_token).act).toEqual(seen);
    expect((await userinfo(service.issuer, tokens.access_token)).json.act).toEqual(seen);
    expect((await introspect(service.issuer, tokens.access_token, 'pairwise-jwt')).json.act).toEqual(seen);
    const everything = JSON.stringify([decodeJwt(tokens.id_token), decodeJwt(tokens.access_token)]);
    for (const id of [actor.oid, bob.oid]) expect(everything).not.toContain(id);
  });

  test('no token outlives the end', async () => {
    for (const client of ['web', 'jwt', 'pairwise-jwt']) {
      const tokens = await tokensOf(client, { scope: 'openid offline_access profile' });
      expect(tokens).not.toHaveProperty('refresh_token');
      expect(decodeJwt(tokens.id_token).exp).toBeLessThanOrEqual(end);
      expect((await introspect(service.issuer, tokens.access_token, client)).json.exp).toBeLessThanOrEqual(end);
      expect(tokens.expires_in).toBeLessThanOrEqual(LASTS_MS / 1000);
    }
  });

  test('is in claims_supported', async () => {
    const discovery = await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json();
    expect(discovery.claims_supported).toContain('act');
  });

  if (isTheirs) {
    test('a claims parameter changes nothing of it: asked for, or asked for with another value', async () => {
      for (const wanted of [null, { essential: true }, { value: { oid: 'somebody' } }]) {
        const claims = JSON.stringify({ id_token: { act: wanted, name: null }, userinfo: { act: wanted } });
        const tokens = await tokensOf('web', { claims });
        expect(decodeJwt(tokens.id_token).act).toEqual(actor);
        expect((await userinfo(service.issuer, tokens.access_token)).json.act).toEqual(actor);
      }
    });

    test('is in a signed userinfo response', async () => {
      const { access_token: token } = await tokensOf('jwt-userinfo');
      const answer = await fetch(`${service.issuer}/connect/userinfo`, { headers: { authorization: `Bearer ${token}` } });
      expect(answer.headers.get('content-type')).toContain('application/jwt');
      expect(decodeJwt(await answer.text()).act).toEqual(actor);
    });
  }

  test('is of nobody who acts as themselves', async () => {
    const browser = new Agent();
    await act({}, browser);
    await browser.post(`${service.issuer}/idp/end-acting`, {});
    const answer = await silently(browser, { scope: 'openid profile' });
    expect(membersOf(answer)).toHaveProperty('code');
    const { json } = await redeem(answer);
    expect(decodeJwt(json.id_token)).not.toHaveProperty('act');
    expect((await userinfo(service.issuer, json.access_token)).json).not.toHaveProperty('act');
  });
});
