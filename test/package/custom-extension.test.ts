/** examples/custom-extension as a stranger gets it: copied out of the packed tarball, compiled against it, run outside the repository. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { badgeGrant, readBadge } from '../../examples/custom-extension/badges.js';
import { Agent, type Answer, authorizeUrl, basic, createPkce, formOf, type Json, postForm, signIn } from '../support/client/agent.js';
import { freePort } from '../support/service/free-port.js';
import { startTinyUpstream, type TinyUpstream } from '../support/sign-in/tiny-upstream.js';
import { epochSeconds } from '../support/time/epoch-seconds.js';
import { until } from '../support/time/until.js';
import { type InstalledPackage, installPackage } from './installed-package.js';

const redirectUri = 'http://localhost:3001/callback';
let installed: InstalledPackage;
let compiled: readonly string[];
let child: ChildProcess;
let issuer: string;
let partner: TinyUpstream;
let chatServer: Awaited<ReturnType<typeof startChatServer>>;

/** Starts a chat server that keeps the notifications that it gets. */
async function startChatServer() {
  const told: Json[] = [];
  const server = createServer(async (req, res) => {
    told.push(await new Response(Readable.toWeb(req) as never).json());
    res.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { told, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/signed-out`, close: () => server.close() };
}

beforeAll(async () => {
  installed = await installPackage();
  const { project } = installed;
  await cp(join(project, 'node_modules/tenant-idp/examples/custom-extension'), join(project, 'src'), { recursive: true });
  const files = (await readdir(join(project, 'src'))).map((name) => `src/${name}`);
  compiled = await installed.compile(files, '--rootDir', 'src', '--outDir', 'built');
  chatServer = await startChatServer();
  partner = await startTinyUpstream(`Basic ${Buffer.from('acme:the secret at the partner').toString('base64')}`);
  const port = await freePort();
  issuer = `http://localhost:${port}`;
  child = spawn(process.execPath, ['built/main.js'], {
    cwd: project,
    env: { ...process.env, PORT: String(port), CHAT_HOOK: chatServer.url, PARTNER: partner.url },
    stdio: 'pipe',
  });
  let said = '';
  child.stderr?.on('data', (data: Buffer) => (said += data.toString()));
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', () => resolve());
    child.once('exit', (code) => reject(new Error(`ended with ${code}: ${said}`)));
  });
});

afterAll(async () => {
  if (child?.exitCode === null) {
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  }
  chatServer?.close();
  partner?.close();
});

const pkce = createPkce();
const urlOf = (parameters: Record<string, string>) =>
  authorizeUrl(issuer, { redirect_uri: redirectUri, code_challenge: pkce.challenge, code_challenge_method: 'S256', ...parameters });
/** Redeems the code of an authorization response. Returns the claims of the ID token. */
async function claimsOf({ location = '' }: Answer, client = 'web'): Promise<Json> {
  const code = new URL(location).searchParams.get('code') ?? '';
  const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: pkce.verifier };
  const { json } = await postForm(`${issuer}/connect/token`, fields, { authorization: basic(client, `${client}-secret`) });
  return JSON.parse(Buffer.from(json.id_token.split('.')[1], 'base64url').toString());
}

/** Signs a user in to the client `web` and redeems the code. */
async function tokensOf(userName: string, parameters: Record<string, string> = {}, agent = new Agent()): Promise<Json> {
  const { verifier, challenge } = createPkce();
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };
  const url = authorizeUrl(issuer, { redirect_uri: redirectUri, ...pkce, ...parameters });
  const { location = '' } = await signIn(agent, url, userName, userName);
  const code = new URL(location).searchParams.get('code') ?? '';
  const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
  const { json } = await postForm(`${issuer}/connect/token`, fields, { authorization: basic('web', 'web-secret') });
  return json;
}

describe('examples/custom-extension on the packed tarball', () => {
  test('compiles as it is', () => {
    expect(compiled).toEqual([]);
  });

  describe('chat', () => {
    test('knows who is signed in here, and hears of the end', async () => {
      const agent = new Agent();
      const me = async () => JSON.parse((await agent.get(`${issuer}/chat/me`)).body);
      expect(await me()).toEqual({ user: null });
      const { id_token: hint } = await tokensOf('bob', { scope: 'openid' }, agent);
      const here = await me();
      expect(here).toMatchObject({ name: 'Bob' });
      await agent.follow(await agent.get(`${issuer}/connect/endsession?${new URLSearchParams({ id_token_hint: hint })}`));
      expect(await me()).toEqual({ user: null });
      await until(() => chatServer.told.length > 0);
      expect(chatServer.told).toEqual([{ session: here.session, user: here.user }]);
    });
  });

  describe('terms', () => {
    test('are accepted once by who uses the portal, and are no way around', async () => {
      const agent = new Agent();
      const page = await signIn(agent, urlOf({ client_id: 'portal' }), 'bob', 'bob');
      expect(page.body).toContain('<h1>Terms of service</h1>');
      const unticked = await agent.follow(await agent.post(formOf(page).action, { csrf: formOf(page).fields.csrf ?? '' }));
      expect(unticked.body).toContain('<h1>Terms of service</h1>');
      const { error } = Object.fromEntries(
        new URL((await agent.get(urlOf({ client_id: 'portal', prompt: 'none' }))).location ?? '').searchParams,
      );
      expect(error).toBe('interaction_required');
      const response = await agent.follow(await agent.submit(unticked, { agree: 'yes' }));
      expect(await claimsOf(response, 'portal')).toMatchObject({ amr: ['pwd'] });
      expect(await claimsOf(await signIn(new Agent(), urlOf({ client_id: 'portal' }), 'bob', 'bob'), 'portal')).toMatchObject({
        amr: ['pwd'],
      });
    });
  });

  describe('upstream', () => {
    const open = async (agent: Agent, more: Record<string, string> = {}) => agent.follow(await agent.get(urlOf(more)));
    const press = async (agent: Agent, page: Answer) => {
      const { action, fields } = formOf(page);
      return throughPartner(agent, await agent.post(action.replace('/identifier', '/method'), { ...fields, idp: 'partner' }));
    };
    /** Takes a browser to the partner and back. */
    const throughPartner = async (agent: Agent, { location = '' }: Answer) => {
      const back = await fetch(location, { redirect: 'manual' });
      return agent.follow(await agent.get(back.headers.get('location') ?? ''));
    };

    test('signs in who was linked, by its button or by idp:, and says so', async () => {
      partner.subject = 'bob at the partner';
      const agent = new Agent();
      const page = await open(agent);
      expect(page.body).toContain('>Sign in with Partner</button>');
      expect(await claimsOf(await press(agent, page))).toMatchObject({ idp: 'partner', amr: ['external'] });
      const other = new Agent();
      expect(await claimsOf(await throughPartner(other, await open(other, { acr_values: 'idp:partner' })))).toMatchObject({
        idp: 'partner',
      });
    });

    test.each([
      ['nobody here has the identity', 'mallory', undefined],
      ['it was cancelled there', 'bob at the partner', 'access_denied'],
    ])('is a page with a way on where %s', async (_, subject, error) => {
      Object.assign(partner, { subject, error });
      const agent = new Agent();
      const page = await press(agent, await open(agent));
      partner.error = undefined;
      expect([page.status, page.location]).toEqual([400, undefined]);
      expect(page.body).toContain('>Try again</a>');
    });

    test('takes nothing that another browser began, nor the same twice', async () => {
      partner.subject = 'bob at the partner';
      const agent = new Agent();
      const { action, fields } = formOf(await open(agent));
      const begun = await agent.post(action.replace('/identifier', '/method'), { ...fields, idp: 'partner' });
      const callback = (await fetch(begun.location ?? '', { redirect: 'manual' })).headers.get('location') ?? '';
      const thief = new Agent();
      expect((await thief.follow(await thief.get(callback))).location).toBeUndefined();
      expect(await claimsOf(await agent.follow(await agent.get(callback)))).toMatchObject({ idp: 'partner' });
      expect((await agent.follow(await agent.get(callback))).location).toBeUndefined();
    });
  });

  describe('support', () => {
    test('signs in as a user of the tenant, on the record, until it ends', async () => {
      const agent = new Agent();
      const page = await signIn(agent, urlOf({ acr_values: 'impersonate', scope: 'openid offline_access' }), 'alice', 'alice');
      expect((await agent.submit(page, { user: 'alice', reason: 'curious' })).status).toBe(400);
      const impersonation = await claimsOf(await agent.follow(await agent.submit(page, { user: 'bob', reason: 'he called' })));
      expect(impersonation).toMatchObject({
        amr: ['pwd', 'imp'],
        act: { oid: expect.any(String), sub: expect.any(String), tid: impersonation.tid },
      });
      expect(await claimsOf(await agent.get(urlOf({ prompt: 'none' })))).toMatchObject({ sub: impersonation.sub, act: impersonation.act });
      expect((await agent.follow(await agent.submit(await agent.get(`${issuer}/support`), {}))).status).toBe(200);
      const { sub, act } = await claimsOf(await agent.get(urlOf({ prompt: 'none' })));
      expect({ sub, act }).toEqual({ sub: impersonation.act.sub, act: undefined });
    });

    test('refuses whoever is no support', async () => {
      const { location = '' } = await signIn(new Agent(), urlOf({ acr_values: 'impersonate' }), 'bob', 'bob');
      expect(new URL(location).searchParams.get('error')).toBe('access_denied');
    });
  });

  describe('badges', () => {
    test('what a badge reader read buys tokens of the person, once', async () => {
      const { access_token: token } = await tokensOf('alice', { scope: 'openid' });
      const userinfo = await (await fetch(`${issuer}/connect/userinfo`, { headers: { authorization: `Bearer ${token}` } })).json();
      const reading = readBadge({ oid: userinfo.sub, at: epochSeconds() }, 'the key of the badge readers');
      const show = () =>
        postForm(`${issuer}/connect/token`, { grant_type: badgeGrant, reading }, { authorization: basic('kiosk', 'kiosk-secret') });
      const answers = await Promise.all(Array.from({ length: 10 }, show));
      const [tokens, ...more] = answers.flatMap(({ status, json }) => (status === 200 ? json : []));
      expect(more).toEqual([]);
      expect(JSON.parse(Buffer.from(tokens.id_token.split('.')[1], 'base64url').toString())).toMatchObject({
        sub: userinfo.sub,
        idp: 'badge',
      });
      const forged = readBadge({ oid: userinfo.sub, at: epochSeconds() }, 'another key');
      const answer = await postForm(
        `${issuer}/connect/token`,
        { grant_type: badgeGrant, reading: forged },
        { authorization: basic('kiosk', 'kiosk-secret') },
      );
      expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    });
  });

  describe('notes', () => {
    const call = async (token: string, method = 'GET', path = '', body?: object) => {
      const { notes_endpoint: endpoint } = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
      const answer = await fetch(endpoint + path, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      return { status: answer.status, json: text && (JSON.parse(text) as Json) };
    };

    test('are written, read and removed by their person alone', async () => {
      const { access_token: alice } = await tokensOf('alice', { scope: 'openid notes' });
      const { access_token: bob } = await tokensOf('bob', { scope: 'openid notes' });
      const { status, json: note } = await call(alice, 'POST', '', { text: 'Buy milk' });
      expect([status, note]).toEqual([201, { id: expect.any(String), text: 'Buy milk' }]);
      expect((await call(alice)).json).toEqual({ notes: [note] });
      expect((await call(bob)).json).toEqual({ notes: [] });
      expect(await call(bob, 'DELETE', `/${note.id}`)).toMatchObject({ status: 404, json: { code: 'not_found' } });
      expect((await call(alice, 'DELETE', `/${note.id}`)).status).toBe(204);
      expect((await call(alice)).json).toEqual({ notes: [] });
    });

    test('are refused without the scope, and in another form', async () => {
      const { access_token: token } = await tokensOf('alice', { scope: 'openid' });
      expect(await call(token)).toMatchObject({ status: 401, json: { code: 'invalid_token' } });
      const { access_token: alice } = await tokensOf('alice', { scope: 'openid notes' });
      expect(await call(alice, 'POST', '', { txt: 'Buy milk' })).toMatchObject({ status: 422, json: { code: 'invalid_record' } });
    });
  });
});
