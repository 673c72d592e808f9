/** Issue 44.3: the examples over a file: a durable service, and a demo that survives a restart, without a server. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, stat, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Agent, authorizeUrl, basic, createPkce, type Json, postForm, signIn } from '../support/client/agent.js';
import { type RunningExample, runExample, startExample } from '../support/service/example.js';
import { freePort } from '../support/service/free-port.js';
import { withSqlite } from '../support/stores/sqlite.js';
import { until } from '../support/time/until.js';

/** Redirect URI of the client in the file of settings. */
const redirectUri = 'http://localhost:3001/callback';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'file-stores-'));
});
afterAll(() => rm(folder, { recursive: true }));

interface User {
  readonly userName: string;
  readonly password: string;
}

/** Obtains a code with the session of the agent, or by a sign-in, and redeems the code. */
async function tokensOf(
  issuer: string,
  redirectUri: string,
  agent: Agent,
  secret: string,
  user?: User,
): Promise<{ status: number; json: Json }> {
  const { verifier, challenge } = createPkce();
  const scope = 'openid profile offline_access';
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };
  const url = authorizeUrl(issuer, { redirect_uri: redirectUri, scope, ...pkce, ...(user ? {} : { prompt: 'none' }) });
  const { location = '' } = user ? await signIn(agent, url, user.userName, user.password) : await agent.get(url);
  const code = new URL(location).searchParams.get('code') ?? '';
  const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
  return postForm(`${issuer}/connect/token`, fields, { authorization: basic('web', secret) });
}

withSqlite(() =>
  describe('the production example over a file', () => {
    const password = 'correct horse battery';
    let env: Record<string, string>;
    let issuer: string;
    let example: RunningExample | undefined;
    const start = async (): Promise<RunningExample> => {
      const started = await startExample('production', env, [], folder);
      await until(
        async () => started.stdout,
        (text) => text.includes('One process serves'),
      );
      return started;
    };
    beforeAll(async () => {
      const port = await freePort();
      issuer = `http://localhost:${port}`;
      env = {
        DATABASE_URL: 'file:./idp.db',
        PORT: `${port}`,
        ISSUER: issuer,
        WEB_SECRET: 'the secret of the web application',
        NODE_ENV: 'development',
      };
    });
    afterAll(() => example?.stop());

    test('makes its keys at the first start, serves, and keeps sessions and tokens over a restart', async () => {
      example = await start();
      expect(example.stdout).toMatch(/^\.env has new keys\./);
      for (const file of ['.env', 'idp.db']) expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
      expect(await example.stop()).toBe(0);
      const set = await runExample('production/password', env, { args: ['alice@acme.test'], input: `${password}\n`, cwd: folder });
      expect(set).toMatchObject({ code: 0, stderr: '' });

      example = await start();
      expect(example.stdout).not.toContain('new keys');
      const agent = new Agent();
      const first = await tokensOf(issuer, redirectUri, agent, env.WEB_SECRET ?? '', { userName: 'alice@acme.test', password });
      expect(first).toMatchObject({ status: 200, json: { refresh_token: expect.any(String) } });
      await example.stop();

      example = await start();
      expect((await tokensOf(issuer, redirectUri, agent, env.WEB_SECRET ?? '')).status).toBe(200);
      const fields = { grant_type: 'refresh_token', refresh_token: first.json.refresh_token };
      const refreshed = await postForm(`${issuer}/connect/token`, fields, { authorization: basic('web', env.WEB_SECRET ?? '') });
      expect(refreshed.status).toBe(200);
    });

    test('a second process names the file and says what to do', async () => {
      const second = await runExample('production/password', env, { args: ['alice@acme.test'], input: `${password}\n`, cwd: folder });
      expect(second).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/idp\.db[\s\S]*\[store_unfit\]|\[store_unfit\][\s\S]*idp\.db/),
      });
    });

    test('makes no other keys for records that are there', async () => {
      await example?.stop();
      await unlink(join(folder, '.env'));
      const { code, stderr } = await runExample('production', env, { cwd: folder });
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/IDP_KEY.* needs the file \.env of its first start/) });
    });

    test('is copied to another file, and a database without records is not', async () => {
      const copied = await runExample('production/copy-directory', {}, { args: ['file:./idp.db', 'file:./copy.db'], cwd: folder });
      expect(copied).toMatchObject({ code: 0, stdout: expect.stringMatching(/^persons: 1$/m), stderr: '' });
      const misspelt = await runExample('production/copy-directory', {}, { args: ['file:./ipd.db', 'file:./new.db'], cwd: folder });
      expect(misspelt).toMatchObject({ code: 1, stdout: '', stderr: 'The database to copy from has no records. Check its URL.\n' });
    });
  }),
);

withSqlite(() =>
  describe('the demo over a file', () => {
    test('keeps its sessions over a restart, and its keys in a file that only their owner reads', async () => {
      const [port, rpPort, file] = [await freePort(), await freePort(), join(folder, `${randomUUID()}.db`)];
      const issuer = `http://localhost:${port}`;
      const start = () => startExample('local', { PORT: `${port}`, RP_PORT: `${rpPort}` }, ['--data', file]);
      const agent = new Agent();
      let demo = await start();
      try {
        expect((await stat(`${file}.keys.json`)).mode & 0o777).toBe(0o600);
        expect(
          (
            await tokensOf(issuer, `http://localhost:${rpPort}/callback`, agent, 'web-secret', {
              userName: 'alice@acme.test',
              password: 'alice',
            })
          ).status,
        ).toBe(200);
        expect(await demo.stop()).toBe(0);
        demo = await start();
        expect((await tokensOf(issuer, `http://localhost:${rpPort}/callback`, agent, 'web-secret')).status).toBe(200);
      } finally {
        await demo.stop();
      }
      await unlink(`${file}.keys.json`);
      const { code, stderr } = await runExample('local', { PORT: `${port}`, RP_PORT: `${rpPort}` }, { args: ['--data', file] });
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/keys\.json is missing, .* put it back/) });
    });
  }),
);

withSqlite(() =>
  describe('the demo over a file that it cannot use', () => {
    const refusalOf = async (file: string) => {
      const env = { PORT: `${await freePort()}`, RP_PORT: `${await freePort()}` };
      return runExample('local', env, { args: ['--data', file], cwd: folder });
    };

    test('in a folder that does not exist says so in one line', async () => {
      const { code, stderr } = await refusalOf('absent/demo.db');
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^--data absent\/demo\.db: ENOENT.*\n$/) });
    });

    test('with damaged keys says so in one line, without a key', async () => {
      await writeFile(join(folder, 'damaged.db.keys.json'), '{"encryption": a-secret');
      const { code, stderr } = await refusalOf('damaged.db');
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^damaged\.db\.keys\.json cannot be read: .*\n$/) });
      expect(stderr).not.toContain('secret');
    });
  }),
);

describe('the arguments of the demo', () => {
  test.each([[['--wrong']], [['--data']], [['--data', '']], [['file']]])(
    '%j is refused, and the arguments that exist are named',
    async (args) => {
      const { code, stderr } = await runExample('local', {}, { args });
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('--data') });
    },
  );
});
