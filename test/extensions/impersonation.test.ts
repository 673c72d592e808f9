/** Service specification 4.2, impersonate and the claim act; house §5, a sign-in with `act` and an end. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, obtainTokens, postForm, signIn } from '../support/client/agent.js';
import { isSignInPage, membersOf } from '../support/client/authorization-response.js';
import { credentialsOf } from '../support/client/endpoints.js';
import { introspect, userinfo } from '../support/client/steps.js';
import { redirectUri } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { actAs, type ImpersonatingOptions } from '../support/sign-in/impersonation.js';
import { backToPresent, passTime } from '../support/time/clock.js';

const options: ImpersonatingOptions = { lasts: 600_000 };
const service = useIdp({ extensions: [actAs(options)] });

let alice: { oid: string; sub: string; tid: string };
let bob: { oid: string; tid: string };
beforeAll(async () => {
  const { accounts } = service.idp.directory;
  const known = async (name: string) => {
    const [account] = await accounts.candidates(name);
    return { oid: account?.person.user.id ?? '', tid: account?.tenant.id ?? '' };
  };
  const [first, second] = await Promise.all([known('alice@acme.test'), known('bob@globex.test')]);
  alice = { ...first, sub: first.oid };
  bob = second;
});

const pkce = createPkce();
const url = (parameters: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...parameters });
const redeemed = async (response: Answer, client = 'web') => {
  const fields = { grant_type: 'authorization_code', code: membersOf(response).code ?? '', redirect_uri: redirectUri };
  return (await postForm(`${service.issuer}/connect/token`, { ...fields, code_verifier: pkce.verifier }, credentialsOf(client))).json;
};
const offline = 'openid offline_access profile';
/** Signs Alice in, and impersonates Bob. */
async function impersonation(parameters: Record<string, string> = {}, agent = new Agent()) {
  const asked = url({ scope: offline, acr_values: 'impersonate', ...parameters });
  const first = await agent.follow(await agent.get(asked));
  const page = isSignInPage(first) ? await signIn(agent, asked) : first;
  const response = await agent.follow(await agent.submit(page, { user: 'bob@globex.test' }));
  return { agent, response, tokens: await redeemed(response, parameters.client_id) };
}
const silently = async (agent: Agent, parameters: Record<string, string> = {}) => agent.get(url({ prompt: 'none', ...parameters }));
const subjectNow = async (agent: Agent) => decodeJwt((await redeemed(await silently(agent))).id_token).sub;

describe('4.2 act: who acts as the user', () => {
  test('is in the ID token, userinfo, introspection and JWT access tokens, all three members of it', async () => {
    const { tokens } = await impersonation();
    const act = { oid: alice.oid, sub: alice.sub, tid: alice.tid };
    expect(decodeJwt(tokens.id_token)).toMatchObject({ sub: bob.oid, tid: bob.tid, amr: ['pwd', 'imp'], act });
    expect((await userinfo(service.issuer, tokens.access_token)).json).toMatchObject({ sub: bob.oid, act });
    expect((await introspect(service.issuer, tokens.access_token)).json).toMatchObject({ active: true, sub: bob.oid, act });
    const signed = (await impersonation({ client_id: 'jwt' })).tokens;
    expect(decodeJwt(signed.access_token)).toMatchObject({ sub: bob.oid, act });
  });

  test('goes on for single sign-on as the user, and says so', async () => {
    const { agent } = await impersonation();
    const { id_token: token } = await redeemed(await silently(agent));
    expect(decodeJwt(token)).toMatchObject({ sub: bob.oid, act: { oid: alice.oid } });
    expect(await service.idp.sessions.list({ tid: bob.tid, userId: bob.oid })).toContainEqual(
      expect.objectContaining({ act: expect.objectContaining({ oid: alice.oid }) }),
    );
  });

  test('cannot be nested, nor be of somebody who is not signed in', async () => {
    const { agent } = await impersonation();
    const page = await agent.follow(await agent.get(url({ acr_values: 'impersonate', prompt: 'login' })));
    const { action, fields } = formOf(page);
    const step = (as: Agent, more: Record<string, string>) => as.post(action.replace('/identifier', '/act-as'), { ...fields, ...more });
    expect((await step(agent, { user: 'carol@acme.test' })).status).toBe(409);
    const honest = new Agent();
    const asked = await signIn(honest, url({ acr_values: 'impersonate' }));
    expect((await honest.submit(asked, { user: 'bob@globex.test', actor: 'carol@acme.test' })).status).toBe(409);
    expect(membersOf(await honest.follow(await honest.submit(asked, { user: 'bob@globex.test' })))).toHaveProperty('code');
    const other = await impersonation();
    // The browser already meets the requirement. The extension decides whether to ask for another user.
    expect(membersOf(await silently(other.agent, { acr_values: 'impersonate' }))).toHaveProperty('code');
    expect(membersOf(await silently(new Agent(), { acr_values: 'impersonate' }))).toMatchObject({ error: 'login_required' });
  });
});

describe('house §5: an end, and nothing offline', () => {
  test('no token outlives it, and there is none to refresh', async () => {
    options.lasts = 60_000;
    const metadata = { redirect_uris: ['https://implicit.test/cb'], response_types: ['id_token'], grant_types: ['implicit'] };
    await service.idp.directory.clients.create({
      id: 'implicit',
      name: 'I',
      secret: 'implicit-secret',
      metadata,
      allowedScopes: ['openid'],
    });
    try {
      const { agent, tokens, response } = await impersonation();
      const end = Math.ceil((Date.now() + options.lasts) / 1000);
      expect(tokens).not.toHaveProperty('refresh_token');
      expect(tokens.scope).not.toContain('offline_access');
      expect(membersOf(response).scope).not.toContain('offline_access');
      expect((await introspect(service.issuer, tokens.access_token)).json.exp).toBeLessThanOrEqual(end);
      expect(decodeJwt(tokens.id_token).exp).toBeLessThanOrEqual(end);
      const implicit = { client_id: 'implicit', redirect_uri: 'https://implicit.test/cb', response_type: 'id_token', nonce: 'n' };
      const { location = '' } = await agent.get(authorizeUrl(service.issuer, { ...implicit, prompt: 'none' }));
      const { exp, act } = decodeJwt(new URLSearchParams(new URL(location).hash.slice(1)).get('id_token') ?? '');
      expect(exp).toBeLessThanOrEqual(end);
      expect(act).toMatchObject({ oid: alice.oid });
    } finally {
      options.lasts = 600_000;
    }
  });

  test('ends on demand: tokens are dead, clients are signed out of, and who acted is themself again', async () => {
    const { agent } = await obtainTokens(service.issuer);
    const before = await subjectNow(agent);
    const { tokens } = await impersonation({}, agent);
    expect(await subjectNow(agent)).toBe(bob.oid);
    expect(JSON.parse((await agent.post(`${service.issuer}/idp/end-acting`, {})).body)).toEqual({ next: 'https://app.test/' });
    expect((await introspect(service.issuer, tokens.access_token)).json).toEqual({ active: false });
    expect([before, await subjectNow(agent)]).toEqual([alice.oid, alice.oid]);
    expect(decodeJwt((await redeemed(await silently(agent))).id_token)).not.toHaveProperty('act');
    expect(JSON.parse((await agent.post(`${service.issuer}/idp/end-acting`, {})).body)).toEqual({});
  });

  test('tells clients that the browser has to call, on the way on', async () => {
    const logout = redirectUri.replace('/callback', '/logout');
    const metadata = { redirect_uris: [redirectUri], frontchannel_logout_uri: logout };
    await service.idp.directory.clients.create({ id: 'framed', name: 'F', secret: 'framed-secret', metadata, allowedScopes: ['openid'] });
    const { agent } = await impersonation();
    expect(membersOf(await silently(agent, { client_id: 'framed' }))).toHaveProperty('code');
    const { next } = JSON.parse((await agent.post(`${service.issuer}/idp/end-acting`, {})).body);
    const page = await agent.get(next);
    expect(page.body).toContain(`<iframe src="${logout}?iss=`);
    expect(
      (await agent.get(new URL(/data-way><a[^>]*href="([^"]*)"/.exec(page.body)?.[1]?.replaceAll('&amp;', '&') ?? '', next).href)).location,
    ).toBe('https://app.test/');
    expect(await subjectNow(agent)).toBe(alice.oid);
  });

  test('ends by time, and who acted is themself again', async () => {
    options.lasts = 120_000;
    try {
      const { agent, tokens } = await impersonation();
      expect(decodeJwt(tokens.id_token).exp).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000) + 120);
      passTime(121);
      expect((await introspect(service.issuer, tokens.access_token)).json).toEqual({ active: false });
      expect(await service.idp.sessions.list({ tid: bob.tid, userId: bob.oid })).not.toContainEqual(
        expect.objectContaining({ clientIds: [], act: expect.anything() }),
      );
      expect(await subjectNow(agent)).toBe(alice.oid);
      expect(await subjectNow(agent)).toBe(alice.oid);
    } finally {
      backToPresent();
      options.lasts = 600_000;
    }
  });

  test('ends when the user is signed out everywhere, and who acted is themself again', async () => {
    const { agent, tokens } = await impersonation();
    await service.idp.sessions.endAll({ tid: bob.tid, userId: bob.oid });
    expect((await introspect(service.issuer, tokens.access_token)).json).toEqual({ active: false });
    expect(await subjectNow(agent)).toBe(alice.oid);
  });

  test('ends when who acts cannot sign in any more', async () => {
    const { agent, tokens } = await impersonation();
    await service.idp.sessions.endAll({ tid: alice.tid, userId: alice.oid });
    expect((await introspect(service.issuer, tokens.access_token)).json).toEqual({ active: false });
    expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(401);
    expect(membersOf(await silently(agent))).toMatchObject({ error: 'login_required' });
  });

  test('a sign-out ends both', async () => {
    const { agent, tokens } = await impersonation();
    const query = new URLSearchParams({ id_token_hint: tokens.id_token });
    await agent.follow(await agent.get(`${service.issuer}/connect/endsession?${query}`));
    expect(membersOf(await silently(agent))).toMatchObject({ error: 'login_required' });
    expect((await introspect(service.issuer, tokens.access_token)).json).toEqual({ active: false });
  });

  test('another sign-in in the browser ends both', async () => {
    const { agent, tokens } = await impersonation();
    const answer = await signIn(agent, url({ prompt: 'login' }), 'carol@acme.test', 'carol');
    expect(membersOf(answer)).toHaveProperty('code');
    expect((await introspect(service.issuer, tokens.access_token)).json).toEqual({ active: false });
    expect(JSON.parse((await agent.post(`${service.issuer}/idp/end-acting`, {})).body)).toEqual({});
    expect(await subjectNow(agent)).not.toBe(alice.oid);
  });

  test('the set-aside session comes back in no other browser', async () => {
    const { agent } = await impersonation();
    const thief = new Agent();
    for (const [key, value] of agent.cookies) if (key.startsWith('idp.session')) thief.cookies.set(key, value);
    await thief.post(`${service.issuer}/idp/end-acting`, {});
    expect(membersOf(await silently(thief))).toMatchObject({ error: 'login_required' });
  });
});

test('house §5: nobody allows a client anything in the name of somebody else', async () => {
  const { agent } = await impersonation();
  expect(membersOf(await agent.follow(await agent.get(url({ client_id: 'third-party' }))))).toMatchObject({ error: 'access_denied' });
});
