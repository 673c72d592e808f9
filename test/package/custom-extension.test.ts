/** examples/custom-extension as a stranger has it: copied out of the packed tarball, compiled against it, run outside the repository. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { badgeGrant, readBadge } from '../../examples/custom-extension/badges.js';
import { Agent, authorizeUrl, basic, createPkce, type Json, postForm, signIn } from '../support/agent.js';
import { freePort } from '../support/example.js';
import { type InstalledPackage, installPackage } from './installed-package.js';

jest.setTimeout(120_000);

const redirectUri = 'http://localhost:3001/callback';
let installed: InstalledPackage;
let compiled: readonly string[];
let child: ChildProcess;
let issuer: string;
let chatServer: Awaited<ReturnType<typeof startChatServer>>;

/** Takes what it is told. */
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
  const port = await freePort();
  issuer = `http://localhost:${port}`;
  child = spawn(process.execPath, ['built/main.js'], {
    cwd: project,
    env: { ...process.env, PORT: String(port), CHAT_HOOK: chatServer.url },
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
  await installed?.remove();
});

/** Signs somebody in to the client `web` and redeems the code. */
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

describe('issue 12 C: examples/custom-extension on the packed tarball', () => {
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
      for (let waited = 0; chatServer.told.length === 0 && waited < 100; waited += 1) await sleep(50);
      expect(chatServer.told).toEqual([{ session: here.session, user: here.user }]);
    });
  });

  describe('badges', () => {
    test('what a badge reader read buys tokens of the person, once', async () => {
      const { access_token: token } = await tokensOf('alice', { scope: 'openid' });
      const userinfo = await (await fetch(`${issuer}/connect/userinfo`, { headers: { authorization: `Bearer ${token}` } })).json();
      const reading = readBadge({ oid: userinfo.sub, at: Math.floor(Date.now() / 1000) }, 'the key of the badge readers');
      const show = () =>
        postForm(`${issuer}/connect/token`, { grant_type: badgeGrant, reading }, { authorization: basic('kiosk', 'kiosk-secret') });
      const answers = await Promise.all(Array.from({ length: 10 }, show));
      const [tokens, ...more] = answers.flatMap(({ status, json }) => (status === 200 ? json : []));
      expect(more).toEqual([]);
      expect(JSON.parse(Buffer.from(tokens.id_token.split('.')[1], 'base64url').toString())).toMatchObject({
        sub: userinfo.sub,
        idp: 'badge',
      });
      const forged = readBadge({ oid: userinfo.sub, at: Math.floor(Date.now() / 1000) }, 'another key');
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
