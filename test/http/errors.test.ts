import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Agent, authorizeUrl, basic, createPkce, obtainTokens, postForm, signIn } from '../support/agent.js';
import { failingStores } from '../support/failing-stores.js';
import { startIdp, type TestIdp } from '../support/idp.js';
import { redirectUri } from '../support/seed.js';

const { artifacts, directory, down } = failingStores();
const web = { authorization: basic('web', 'web-secret') };
let it: TestIdp;
beforeAll(async () => {
  it = await startIdp({ artifacts, directory });
});
afterEach(() => {
  Object.assign(down, { artifacts: false, directory: false, writes: false });
});
afterAll(() => it.close());

/** What every caller gets while a store is away. */
function expectOutage({ status, headers, text }: { status: number; headers: Headers; text: string }, as: 'json' | 'page') {
  expect({ status, retryAfter: headers.get('retry-after'), challenge: headers.get('www-authenticate') }).toEqual({
    status: 503,
    retryAfter: expect.stringMatching(/^\d+$/),
    challenge: null,
  });
  expect(text).not.toMatch(/ECONNREFUSED|hunter2|10\.1\.2\.3|invalid_grant|"active"/);
  if (as === 'json') expect(JSON.parse(text)).toEqual({ error: 'temporarily_unavailable', error_description: expect.any(String) });
  else expect(text).toMatch(/^<!doctype html>/);
}
const request = (parameters = {}) =>
  authorizeUrl(it.issuer, { code_challenge: 'c'.repeat(43), code_challenge_method: 'S256', state: 'st', ...parameters });
const asPage = ({ status, headers, body }: Awaited<ReturnType<Agent['get']>>) => ({ status, headers, text: body });

describe('design §4: a store that is away is 503 temporarily_unavailable, never a wrong answer', () => {
  test.each(['artifacts', 'writes'] as const)('token endpoint, %s: a code and a refresh token work once it is back', async (what) => {
    const { verifier, challenge } = createPkce();
    const agent = new Agent();
    const { location } = await signIn(agent, request({ code_challenge: challenge, scope: 'openid offline_access' }));
    const fields = {
      grant_type: 'authorization_code',
      code: new URL(location ?? '').searchParams.get('code') ?? '',
      redirect_uri: redirectUri,
      code_verifier: verifier,
    };
    const token = `${it.issuer}/connect/token`;
    down[what] = true;
    expectOutage(await postForm(token, fields, web), 'json');
    down[what] = false;
    const bought = await postForm(token, fields, web);
    expect(bought.status).toBe(200);

    const refresh = { grant_type: 'refresh_token', refresh_token: bought.json.refresh_token };
    down[what] = true;
    expectOutage(await postForm(token, refresh, web), 'json');
    down[what] = false;
    expect((await postForm(token, refresh, web)).status).toBe(200);
  });

  test('token endpoint, directory: nothing is spent by a request that failed', async () => {
    const { verifier, challenge } = createPkce();
    const { location } = await signIn(new Agent(), request({ code_challenge: challenge }), 'carol@acme.test', 'carol');
    const fields = {
      grant_type: 'authorization_code',
      code: new URL(location ?? '').searchParams.get('code') ?? '',
      redirect_uri: redirectUri,
      code_verifier: verifier,
    };
    down.directory = true;
    expectOutage(await postForm(`${it.issuer}/connect/token`, fields, web), 'json');
    down.directory = false;
    expect((await postForm(`${it.issuer}/connect/token`, fields, web)).status).toBe(200);
  });

  test('client credentials and pushed requests', async () => {
    down.writes = true;
    const service = { authorization: basic('service', 'service-secret') };
    expectOutage(await postForm(`${it.issuer}/connect/token`, { grant_type: 'client_credentials' }, service), 'json');
    const pushed = { client_id: 'web', response_type: 'code', redirect_uri: redirectUri, scope: 'openid', code_challenge: 'c'.repeat(43) };
    expectOutage(await postForm(`${it.issuer}/connect/par`, { ...pushed, code_challenge_method: 'S256' }, web), 'json');
  });

  test.each(['artifacts', 'directory'] as const)('introspection, revocation and userinfo, %s', async (what) => {
    const { tokens } = await obtainTokens(it.issuer, { scope: 'openid profile offline_access' });
    down[what] = true;
    expectOutage(await postForm(`${it.issuer}/connect/introspect`, { token: tokens.access_token }, web), 'json');
    const userinfo = await fetch(`${it.issuer}/connect/userinfo`, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    expectOutage({ status: userinfo.status, headers: userinfo.headers, text: await userinfo.text() }, 'json');
    if (what === 'artifacts') expectOutage(await postForm(`${it.issuer}/connect/revocation`, { token: tokens.refresh_token }, web), 'json');
    down[what] = false;
    expect((await postForm(`${it.issuer}/connect/introspect`, { token: tokens.access_token }, web)).json).toMatchObject({ active: true });
  });

  test.each(['artifacts', 'directory'] as const)('authorize with a session, %s: the client is told by redirect', async (what) => {
    const agent = new Agent();
    await signIn(agent, request());
    down[what] = true;
    const { status, location, body } = await agent.get(request());
    expect({ status, body }).toMatchObject({ status: 303 });
    const answer = new URL(location ?? '');
    expect(answer.origin + answer.pathname).toBe(redirectUri);
    expect(Object.fromEntries(answer.searchParams)).toEqual({
      error: 'temporarily_unavailable',
      error_description: expect.any(String),
      state: 'st',
      iss: it.issuer,
    });
    down[what] = false;
    expect((await agent.get(request({ prompt: 'none' }))).location).toContain('code=');
  });

  test('authorize without a session: a sign-in that could not be stored is not begun', async () => {
    down.writes = true;
    const answer = await new Agent().get(request());
    expect(answer.location ?? '').not.toContain('/interaction/');
    expectOutage(asPage(answer), 'page');
  });

  test('authorize for a client that nobody knows: a page', async () => {
    down.directory = true;
    expectOutage(asPage(await new Agent().get(request({ client_id: 'never-seen' }))), 'page');
  });

  test.each(['artifacts', 'directory'] as const)('sign-in pages, %s: a page; the sign-in goes on afterwards', async (what) => {
    const agent = new Agent();
    const page = await agent.follow(await agent.get(request()));
    const password = await agent.submit(page, { identifier: 'bob@globex.test' });
    down[what] = true;
    if (what === 'artifacts') expectOutage(asPage(await agent.get(page.url)), 'page');
    expectOutage(asPage(await agent.submit(password, { password: 'bob' })), 'page');
    down[what] = false;
    const done = await agent.follow(await agent.submit(password, { password: 'bob' }));
    expect(done.location).toContain('code=');
  });

  test('end session: a page, and the session is still there', async () => {
    const { agent, tokens } = await obtainTokens(it.issuer);
    const url = `${it.issuer}/connect/endsession?id_token_hint=${tokens.id_token}`;
    down.artifacts = true;
    expectOutage(asPage(await agent.get(url)), 'page');
    down.artifacts = false;
    expect((await agent.get(request({ prompt: 'none' }))).location).toContain('code=');
  });

  test('health says which; the log has the cause', async () => {
    down.artifacts = true;
    expect(await it.idp.health()).toEqual({ status: 'down', artifacts: 'down', directory: 'up' });
    it.logged.length = 0;
    await postForm(`${it.issuer}/connect/introspect`, { token: 'x'.repeat(43) }, web);
    down.artifacts = false;
    expect(await it.idp.health()).toEqual({ status: 'up', artifacts: 'up', directory: 'up' });
    const { tokens } = await obtainTokens(it.issuer);
    down.artifacts = true;
    await postForm(`${it.issuer}/connect/introspect`, { token: tokens.access_token }, web);
    const [[{ err }]] = it.logged as [[{ err: { code: string; cause: Error } }]];
    expect({ code: err.code, cause: err.cause.message }).toEqual({
      code: 'store_unavailable',
      cause: expect.stringContaining('ECONNREFUSED'),
    });
  });
});
