/** Each example runs, signs a user in over HTTP, and ends after SIGTERM. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { Agent, authorizeUrl, basic, createPkce, type Json, postForm, signIn } from '../support/client/agent.js';
import { type RunningDemo, type RunningExample, runExample, startDemo, startExample } from '../support/service/example.js';
import { freePort } from '../support/service/free-port.js';
import { LIMIT_MS } from '../support/time/in-time.js';

const redirectUri = 'http://localhost:3001/callback';

/** Signs alice in to the client `web` and redeems the code. */
async function tokensOf(issuer: string, scope: string): Promise<Json> {
  const { verifier, challenge } = createPkce();
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };
  const { location = '' } = await signIn(
    new Agent(),
    authorizeUrl(issuer, { redirect_uri: redirectUri, scope, ...pkce }),
    'alice',
    'alice',
  );
  const code = new URL(location).searchParams.get('code') ?? '';
  const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
  const { json } = await postForm(`${issuer}/connect/token`, fields, { authorization: basic('web', 'web-secret') });
  return json;
}

const getJson = async (url: string, headers: Record<string, string> = {}): Promise<Json> => (await fetch(url, { headers })).json();
const claimsOf = (issuer: string, { access_token }: Json) =>
  getJson(`${issuer}/connect/userinfo`, { authorization: `Bearer ${access_token}` });

/** Starts an example on a port of its own for one test, and expects it to end well. */
async function withExample(name: string, env: Record<string, string>, use: (issuer: string) => Promise<void>): Promise<void> {
  const port = await freePort();
  const example = await startExample(name, { PORT: String(port), ...env });
  try {
    await use(`http://localhost:${port}`);
  } finally {
    expect(await example.stop()).toBe(0);
  }
}

test.each(['koa-host', 'express-host'])('design §1: %s signs in, and answers the rest itself', async (name) => {
  await withExample(name, {}, async (issuer) => {
    expect(await claimsOf(issuer, await tokensOf(issuer, 'openid profile'))).toMatchObject({ name: 'Alice Andersen' });
    expect(await (await fetch(issuer)).text()).toBe('The host application');
  });
});

describe('design §3: custom-claim', () => {
  let example: RunningExample;
  let issuer: string;
  beforeAll(async () => {
    const port = await freePort();
    issuer = `http://localhost:${port}`;
    example = await startExample('custom-claim', { PORT: String(port) });
  });
  afterAll(async () => {
    expect(await example?.stop()).toBe(0);
  });

  test('has its claims in userinfo, where they are declared to be, and its scope in discovery', async () => {
    const { scopes_supported, claims_supported } = await getJson(`${issuer}/.well-known/openid-configuration`);
    expect(scopes_supported).toContain('hr');
    expect(claims_supported).toEqual(expect.arrayContaining(['cost_center', 'manager']));
    const tokens = await tokensOf(issuer, 'openid hr');
    expect(await claimsOf(issuer, tokens)).toMatchObject({ cost_center: '4711', manager: 'Carol Clark' });
  });

  test('has the doors in access tokens for the door locks, and nowhere else', async () => {
    const { access_token: token } = await tokensOf(issuer, 'openid doors.open');
    expect(decodeJwt(token)).toMatchObject({ aud: ['door-locks'], doors: ['Laboratory'] });
    expect(await claimsOf(issuer, { access_token: token })).not.toHaveProperty('doors');
    expect(decodeJwt((await tokensOf(issuer, 'openid hr')).access_token)).not.toHaveProperty('doors');
  });

  test('signs in without them while the HR system hangs', async () => {
    await withExample('custom-claim', { HR_DELAY: '60000' }, async (slow) => {
      const claims = await claimsOf(slow, await tokensOf(slow, 'openid hr'));
      expect(claims).toHaveProperty('sub');
      expect(claims).not.toHaveProperty('cost_center');
    });
  });
});

describe('the demo', () => {
  let demo: RunningDemo;
  let idp: string;
  let rp: string;
  beforeAll(async () => {
    demo = await startDemo();
    ({ idp, rp } = demo);
  });
  afterAll(async () => {
    expect(await demo?.stop()).toBe(0);
  });

  test('says where it is, who can sign in and which clients there are, and nothing besides', () => {
    for (const fact of [rp, `${rp}/spa`, idp, 'alice@acme.test', 'alice@globex.test', 'bob@globex.test'])
      expect(demo.stdout).toContain(fact);
    for (const secret of ['web-secret', 'service-secret', 'orders-secret']) expect(demo.stdout).toContain(secret);
    const others = demo.stderr.split('\n').filter((line) => !/^[┌│└]|^$/.test(line));
    expect(others).toEqual([]);
  });

  test('signs people of Vandelay in at their own provider, and out there as well', async () => {
    const [, provider = ''] = /(http:\/\/localhost:\d+) +Vandelay’s own provider/.exec(demo.stdout) ?? [];
    const [agent, there] = [new Agent(), new Agent()];
    const page = await agent.follow(await agent.get((await agent.get(`${rp}/sign-in`)).location ?? ''));
    const sent = await agent.submit(page, { identifier: 'vera@vandelay.test' });
    expect(sent.location).toMatch(provider);
    const people = await there.follow(await there.get(sent.location ?? ''));
    const back = await there.follow(await there.submit(people, { sub: 'vera' }));
    const done = await agent.follow(await agent.get(back.location ?? ''));
    const account = await agent.follow(await agent.get(done.location ?? ''));
    expect(account.body).toContain('Vera Vang');
    expect(account.body).toContain('vandelay');
    const signedOut = await agent.follow(await agent.post(`${rp}/sign-out`, {}));
    expect((await agent.follow(await agent.get(signedOut.location ?? ''))).location).toMatch(`${provider}/session/end`);
  });

  test('signs in, shows the four views of it, refreshes, calls the API and signs out', async () => {
    const agent = new Agent();
    const start = await agent.get(`${rp}/sign-in`);
    const { location = '' } = await signIn(agent, start.location ?? '');
    expect(location).toMatch(`${rp}/callback`);
    const account = await agent.follow(await agent.get(location));
    for (const id of ['id-token', 'userinfo', 'introspection', 'tokens', 'orders']) expect(account.body).toContain(`id="${id}"`);
    expect(account.body).toContain('Alice Andersen');
    expect((await agent.follow(await agent.post(`${rp}/refresh`, {}))).body).toContain('Refreshed once');
    const ordered = (await agent.follow(await agent.post(`${rp}/orders`, {}))).body;
    expect(ordered).toContain('Rocket skates');
    expect(ordered).not.toContain('Widget');
    const out = await agent.post(`${rp}/sign-out`, {});
    const back = await agent.follow(await agent.get(out.location ?? ''));
    expect(back.location).toBe(`${rp}/signed-out`);
    expect((await agent.get(rp)).body).toContain('Accounts to try');
  });

  test('leads from 127.0.0.1 to where its cookies and redirect URIs are', async () => {
    expect((await new Agent().get(`${rp.replace('localhost', '127.0.0.1')}/spa?a=b`)).location).toBe(`${rp}/spa?a=b`);
  });

  test('refuses an answer that it did not ask for', async () => {
    const answer = await new Agent().get(`${rp}/callback?code=abc&state=<script>&iss=${idp}`);
    expect(answer.status).toBe(400);
    expect(answer.body).not.toContain('<script>');
  });

  test('refuses an answer of another identity provider', async () => {
    const agent = new Agent();
    const state = new URL((await agent.get(`${rp}/sign-in`)).location ?? '').searchParams.get('state') ?? '';
    const { status, body } = await agent.get(`${rp}/callback?${new URLSearchParams({ code: 'abc', state, iss: 'http://localhost:1' })}`);
    expect({ status, body }).toEqual({ status: 400, body: expect.stringContaining('This answer cannot be trusted') });
  });

  test('says so when the identity provider is away', async () => {
    const issuer = `http://localhost:${await freePort()}`;
    const lost = await startDemo([], { ISSUER: issuer });
    const { status, body } = await new Agent().get(`${lost.rp}/sign-in`);
    expect(await lost.stop()).toBe(0);
    expect({ status, body }).toEqual({ status: 502, body: expect.stringContaining(issuer) });
  });

  test('escapes what the identity provider says', async () => {
    const agent = new Agent();
    const state = new URL((await agent.get(`${rp}/sign-in`)).location ?? '').searchParams.get('state') ?? '';
    const query = new URLSearchParams({ error: '<b>error</b>', error_description: '<i>why</i>', state, iss: idp });
    const { status, body } = await agent.get(`${rp}/callback?${query}`);
    expect(status).toBe(400);
    expect(body).toContain('&lt;i&gt;why&lt;/i&gt;');
    expect(body).not.toMatch(/<[bi]>(error|why)/);
  });

  test('the orders API takes a service, and nobody without a token for it', async () => {
    const authorization = basic('service', 'service-secret');
    const { json } = await postForm(`${idp}/connect/token`, { grant_type: 'client_credentials', scope: 'orders.read' }, { authorization });
    const { orders } = await getJson(`${rp}/api/orders`, { authorization: `Bearer ${json.access_token}` });
    expect(orders).toHaveLength(3);
    expect((await fetch(`${rp}/api/orders`)).status).toBe(401);
    expect((await fetch(`${rp}/api/orders`, { headers: { authorization: 'Bearer nonsense' } })).status).toBe(401);
  });

  test.each([
    [{ PORT: 'http' }, /^PORT is "http": .*\n$/],
    [{ RP_PORT: '65536' }, /^RP_PORT is "65536": .*\n$/],
    [{ PORT: '4000', RP_PORT: '4000' }, /^PORT and RP_PORT are both 4000: .*\n$/],
    [{ ISSUER: 'localhost:3000' }, /^ISSUER is "localhost:3000": .*\n$/],
  ])('does not start with %j: one line says why', async (env, line) => {
    expect(await runExample('local', env)).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(line) });
  });

  test.each(['PORT', 'RP_PORT'])('does not start when %s is in use: one line says so', async (variable) => {
    const taken = createServer().listen(0);
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    const ports = { PORT: String(await freePort()), RP_PORT: String(await freePort()), [variable]: String(port) };
    const { code, stdout, stderr } = await runExample('local', ports);
    taken.close();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^Port ${port} is in use: set ${variable} to another one.*\n$`));
  });
});

test('a SIGTERM to npm start ends the demo too, of which npm is not the parent', async () => {
  const [port, rpPort] = [await freePort(), await freePort()];
  const env = { ...process.env, PORT: String(port), RP_PORT: String(rpPort) };
  // Skips the script before `start`, which would build the running files again.
  const npm = spawn('npm', ['start', '--ignore-scripts'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  let said = '';
  npm.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const serves = () =>
    fetch(`http://localhost:${port}/.well-known/openid-configuration`).then(
      ({ ok }) => ok,
      () => false,
    );
  const soon = async (wanted: boolean) => {
    for (const deadline = Date.now() + LIMIT_MS; (await serves()) !== wanted; await sleep(100))
      if (Date.now() > deadline) throw new Error(said);
  };
  await soon(true);
  npm.kill('SIGTERM');
  await soon(false);
});
