import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { Agent, type Answer, authorizeUrl, createPkce, obtainTokens, signIn } from '../../support/client/agent.js';
import { isSignInPage, membersOf } from '../../support/client/authorization-response.js';
import { type Endpoints, endpointsOf, isActive } from '../../support/client/endpoints.js';
import { redeem } from '../../support/client/steps.js';
import { postLogoutRedirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';

let endpoints: Endpoints;
let acme: { oid: string; tid: string };
let globex: { oid: string; tid: string };
const service = useIdp();
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  acme = await accountOf('alice@acme.test');
  globex = await accountOf('alice@globex.test');
});

afterEach(backToPresent);

const pkce = createPkce();
const accountOf = async (userName: string) => {
  const [account] = await service.idp.directory.accounts.candidates(userName);
  if (!account) throw new Error(`no ${userName}`);
  return { oid: account.person.user.id, tid: account.tenant.id };
};
const request = (parameters: Record<string, string | undefined> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...parameters });
const respond = async (agent: Agent, parameters: Record<string, string | undefined> = {}) =>
  agent.follow(await agent.get(request({ prompt: 'select_account', ...parameters })));
const choose = async (agent: Agent, page: Answer, { oid }: { oid: string }) => agent.follow(await agent.submit(page, { choice: oid }));
const tokensOf = async (answer: Answer, client = 'web') =>
  (await redeem(service.issuer, { client, code: membersOf(answer).code ?? '', verifier: pkce.verifier })).json;

/** Returns the accounts of the chooser by user name, and whether each account requires a password. */
const offered = ({ body }: Answer): Record<string, boolean> =>
  Object.fromEntries(
    [...body.matchAll(/<button class="account"[\s\S]*?<\/button>/g)].map(([button]) => {
      const lines = [...button.matchAll(/<span><bdi>(.*?)<\/bdi><\/span>/g)].map(([, line = '']) => line.replaceAll('<wbr>', ''));
      return [lines[0] ?? '', lines.includes('Signed out')];
    }),
  );
const signOut = (agent: Agent, idToken: string) =>
  agent.get(
    `${service.issuer}/connect/endsession?${new URLSearchParams({ id_token_hint: idToken, post_logout_redirect_uri: postLogoutRedirectUri })}`,
  );

describe('4.2 prompt=select_account', () => {
  test('4.2 who is not signed in, in a browser that nobody signed in from, signs in', async () => {
    const agent = new Agent();
    expect(isSignInPage(await respond(agent))).toBe(true);
    expect(membersOf(await signIn(agent, request({ prompt: 'select_account' })))).toMatchObject({ code: expect.any(String) });
  });

  test('4.2 offers the current account and those linked to it; the current one goes on as it is', async () => {
    const { agent, tokens } = await obtainTokens(service.issuer);
    const page = await respond(agent);
    expect(offered(page)).toEqual({ 'alice@acme.test': false, 'alice@globex.test': false });
    const claims = decodeJwt((await tokensOf(await choose(agent, page, acme))).id_token);
    const before = decodeJwt(tokens.id_token);
    expect([claims.oid, claims.sid, claims.auth_time]).toEqual([before.oid, before.sid, before.auth_time]);
  });

  test('design §6: a linked account takes no password; nothing is revoked, and the time of the sign-in stays', async () => {
    const { agent, tokens } = await obtainTokens(service.issuer, { scope: 'openid offline_access' });
    const switched = await tokensOf(await choose(agent, await respond(agent), globex));
    const [before, after] = [tokens, switched].map(({ id_token: token }) => decodeJwt(token));
    expect(after).toMatchObject({ sub: before?.sub, oid: globex.oid, tid: globex.tid, amr: ['pwd'], auth_time: before?.auth_time });
    for (const { access_token: token } of [tokens, switched]) expect(await isActive(endpoints, token)).toBe(true);
    expect(decodeJwt((await endpoints.refresh(tokens.refresh_token)).json.id_token)).toMatchObject({ tid: acme.tid });
    expect(membersOf(await respond(agent, { prompt: 'none', id_token_hint: switched.id_token }))).toHaveProperty('code');
    const back = await tokensOf(await choose(agent, await respond(agent), acme));
    expect(decodeJwt(back.id_token)).toMatchObject({ tid: acme.tid });
  });

  test('security F: the session gets a new id with the account', async () => {
    const { agent } = await obtainTokens(service.issuer);
    const cookie = () => [...agent.cookies].find(([name]) => name.startsWith('idp.session '))?.[1].value;
    const before = cookie();
    await choose(agent, await respond(agent), globex);
    expect(cookie()).not.toBe(before);
  });

  test('4.2 another account is one link away', async () => {
    const { agent, tokens } = await obtainTokens(service.issuer);
    const page = await respond(agent);
    const other = /<a class="button quiet" href="([^"]+)"/.exec(page.body)?.[1] ?? '';
    const identifier = await agent.get(other);
    const password = await agent.submit(identifier, { identifier: 'bob@globex.test' });
    const bobs = await tokensOf(await agent.follow(await agent.submit(password, { password: 'bob' })));
    expect(decodeJwt(bobs.id_token)).toMatchObject({ tid: globex.tid });
    expect(await isActive(endpoints, tokens.access_token)).toBe(false);
  });

  test('4.2 with login: the chosen account signs in anew', async () => {
    const { agent } = await obtainTokens(service.issuer);
    const page = await choose(agent, await respond(agent, { prompt: 'select_account login' }), globex);
    expect(isSignInPage(page)).toBe(true);
    const password = await agent.submit(page, { identifier: 'alice@globex.test' });
    const tokens = await tokensOf(await agent.follow(await agent.submit(password, { password: 'alice' })));
    expect(decodeJwt(tokens.id_token)).toMatchObject({ tid: globex.tid });
  });

  test('4.2 with max_age: a choice is no sign-in', async () => {
    const { agent } = await obtainTokens(service.issuer);
    passTime(100);
    expect(isSignInPage(await choose(agent, await respond(agent, { max_age: '60' }), globex))).toBe(true);
  });

  test('4.2 not with none', async () => {
    const { agent } = await obtainTokens(service.issuer);
    expect(membersOf(await respond(agent, { prompt: 'none select_account' }))).toMatchObject({ error: 'invalid_request' });
  });

  test('4.2 custom parameters come back through it', async () => {
    const { agent } = await obtainTokens(service.issuer);
    const odd = { 'a b': '"><b>', æ: 'ø' };
    expect(membersOf(await choose(agent, await respond(agent, odd), globex))).toMatchObject({ ...odd, code: expect.any(String) });
  });
});

describe('4.2 tenant: with a linked account', () => {
  test('4.2 offers the account of the tenant alone; without interaction account_selection_required', async () => {
    const { agent } = await obtainTokens(service.issuer);
    const tenant = { prompt: undefined, acr_values: `tenant:${globex.tid}` };
    expect(membersOf(await respond(agent, { ...tenant, prompt: 'none' }))).toMatchObject({ error: 'account_selection_required' });
    const page = await respond(agent, tenant);
    expect(offered(page)).toEqual({ 'alice@globex.test': false });
    const tokens = await tokensOf(await choose(agent, page, globex));
    expect(decodeJwt(tokens.id_token)).toMatchObject({ tid: globex.tid });
    expect(membersOf(await respond(agent, { ...tenant, prompt: 'none' }))).toHaveProperty('code');
  });

  test('security A: an account that the page does not offer cannot be chosen', async () => {
    const { agent } = await obtainTokens(service.issuer);
    const page = await respond(agent, { prompt: undefined, acr_values: `tenant:${globex.tid}` });
    const bob = await accountOf('bob@globex.test');
    for (const account of [acme, bob, { oid: 'x' }, { oid: '' }]) {
      const answer = await choose(agent, page, account);
      expect([answer.location, offered(answer)]).toEqual([undefined, { 'alice@globex.test': false }]);
    }
  });

  test('4.2 a person without an account there signs in, and without interaction gets login_required', async () => {
    const { agent } = await obtainTokens(service.issuer, { userName: 'bob@globex.test', password: 'bob' });
    const tenant = { prompt: undefined, acr_values: `tenant:${acme.tid}` };
    expect(isSignInPage(await respond(agent, tenant))).toBe(true);
    expect(membersOf(await respond(agent, { ...tenant, prompt: 'none' }))).toMatchObject({ error: 'login_required' });
  });

  test('4.2 id_token_hint of a linked account offers that account', async () => {
    const { tokens } = await obtainTokens(service.issuer, { userName: 'alice@globex.test' });
    const { agent } = await obtainTokens(service.issuer);
    const page = await respond(agent, { prompt: undefined, id_token_hint: tokens.id_token });
    expect(offered(page)).toEqual({ 'alice@globex.test': false });
    expect(membersOf(await choose(agent, page, globex))).toHaveProperty('code');
  });

  test('4.2 who signs in to the other of two linked accounts is offered the one that the hint says', async () => {
    const { tokens } = await obtainTokens(service.issuer, { userName: 'alice@globex.test' });
    for (const agent of [new Agent(), (await obtainTokens(service.issuer, { userName: 'carol@acme.test', password: 'carol' })).agent]) {
      const page = await signIn(agent, request({ id_token_hint: tokens.id_token }));
      expect(offered(page)).toEqual({ 'alice@globex.test': false });
      expect(decodeJwt((await tokensOf(await choose(agent, page, globex))).id_token)).toMatchObject({ tid: globex.tid });
    }
  });

  test('4.2 who signs in as somebody else than the hint says is answered with login_required, not asked for ever', async () => {
    const { tokens } = await obtainTokens(service.issuer);
    const answer = await signIn(new Agent(), request({ id_token_hint: tokens.id_token }), 'bob@globex.test', 'bob');
    expect(membersOf(answer)).toMatchObject({ error: 'login_required' });
  });
});

describe('design §6: a switch takes what a sign-in would', () => {
  test('design §3: a child that signed in with its own password before it was linked does not become its parent', async () => {
    const [carol, bob] = [await accountOf('carol@acme.test'), await accountOf('bob@globex.test')];
    const { agent } = await obtainTokens(service.issuer, { userName: 'bob@globex.test', password: 'bob' });
    const { linking } = service.idp.tenant(bob.tid);
    await linking.link(bob.oid, { tid: carol.tid, userId: carol.oid });
    expect(offered(await respond(agent))).toEqual({ 'bob@globex.test': false });
    await linking.unlink(bob.oid, carol.oid);
  });

  test('design §6: a tenant that requires more than a password asks for it after the switch', async () => {
    const { agent } = await obtainTokens(service.issuer);
    const { tenants } = service.idp.directory;
    await tenants.update(globex.tid, { signIn: { requireMfa: true } });
    const page = await choose(agent, await respond(agent), globex);
    expect([page.location, page.body.includes('<h1>Set up a second factor</h1>')]).toEqual([undefined, true]);
    await tenants.update(globex.tid, { signIn: null });
  });

  test('security G1: not by a form that is not ours', async () => {
    const { agent } = await obtainTokens(service.issuer);
    const page = await respond(agent);
    for (const csrf of ['', 'x']) expect((await agent.submit(page, { csrf, choice: globex.oid })).status).toBe(403);
    expect(membersOf(await respond(agent, { prompt: 'none', acr_values: `tenant:${acme.tid}` }))).toHaveProperty('code');
  });

  test('design §3: a page of before the switch, in another tab, is restarted', async () => {
    const { agent } = await obtainTokens(service.issuer);
    const [one, other] = [await respond(agent), await respond(agent)];
    await choose(agent, one, globex);
    // The switch ended the session of that page. The request is restarted, and the submitted choice has no effect.
    const restarted = await agent.follow(await agent.submit(other, { choice: acme.oid }));
    expect(offered(restarted)).toEqual({ 'alice@acme.test': false, 'alice@globex.test': false });
  });
});

describe('design §6: remembered accounts', () => {
  const chooserAfterSignOut = async () => {
    const { agent, tokens } = await obtainTokens(service.issuer);
    await signOut(agent, tokens.id_token);
    return { agent, page: await respond(agent) };
  };

  test('design §6: who signed in before is offered after signing out, and takes the password again', async () => {
    const { agent, page } = await chooserAfterSignOut();
    expect(offered(page)).toEqual({ 'alice@acme.test': true });
    const password = await agent.submit(page, { choice: acme.oid });
    expect(password.body).toContain('name="password"');
    expect(membersOf(await agent.follow(await agent.submit(password, { password: 'alice' })))).toHaveProperty('code');
  });

  test('design §6: can be forgotten', async () => {
    const { agent, page } = await chooserAfterSignOut();
    expect(isSignInPage(await agent.follow(await agent.submit(page, { forget: acme.oid })))).toBe(true);
    expect(isSignInPage(await respond(agent))).toBe(true);
  });

  test('design §6: one of a tenant that may not sign in here is not offered', async () => {
    const { agent } = await chooserAfterSignOut();
    expect(isSignInPage(await respond(agent, { acr_values: `tenant:${globex.tid}` }))).toBe(true);
    await service.idp.directory.clients.update('spa', { allowedTenants: [globex.tid] });
    expect(isSignInPage(await respond(agent, { client_id: 'spa' }))).toBe(true);
  });

  test('design §6: the cookie tells nobody anything, and is nobody’s but the pages’', async () => {
    const agent = new Agent();
    const page = await agent.submit(await agent.follow(await agent.get(request())), { identifier: 'alice@acme.test' });
    const lines = (await agent.submit(page, { password: 'alice' })).headers.getSetCookie();
    const [line = ''] = lines.filter((one) => one.startsWith('idp.accounts='));
    expect(line).toMatch(/; path=\/idp\/interaction; .*samesite=lax; httponly$/i);
    expect(Buffer.from(line, 'base64url').toString('latin1')).not.toMatch(new RegExp(`${acme.oid}|alice`));
    expect(line).not.toContain(acme.oid);
  });

  test('design §6: a cookie that is not ours is no cookie', async () => {
    const agent = new Agent();
    agent.cookies.set('idp.accounts /idp/interaction', { value: 'v1.x.y.z', path: '/idp/interaction' });
    expect(isSignInPage(await respond(agent))).toBe(true);
  });

  test('design §6: five are remembered, the latest first', async () => {
    const agent = new Agent();
    for (const userName of ['bob@globex.test', 'carol@acme.test', 'alice@acme.test'])
      await obtainTokens(service.issuer, { agent, userName, password: userName.split('@')[0] ?? '', prompt: 'login' });
    expect(Object.entries(offered(await respond(agent)))).toEqual([
      ['alice@acme.test', false],
      ['alice@globex.test', false],
      ['carol@acme.test', true],
      ['bob@globex.test', true],
    ]);
  });
});

describe('design §3: accounts that end', () => {
  test('design §3: an account that ended meanwhile cannot be chosen any more', async () => {
    const { agent } = await obtainTokens(service.issuer);
    const page = await respond(agent);
    const { users } = service.idp.tenant(globex.tid);
    await users.disable(globex.oid);
    const answer = await choose(agent, page, globex);
    expect([answer.location, offered(answer)]).toEqual([undefined, { 'alice@acme.test': false }]);
    await users.enable(globex.oid);
  });
});
