/** Applications written by others, each a process of its own, by the first example of its own documentation: docs/connect-an-application.md. */
import { type ChildProcess, execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { byHand, startProgram } from '../servers/outside-programs.js';
import { Agent, type Answer } from '../support/client/agent.js';
import { journeySeed } from '../support/client/journey.js';
import { freePort } from '../support/service/example.js';
import { useIdp } from '../support/service/use-idp.js';

const started: ChildProcess[] = [];
/** Alice has two addresses, so that an application that takes a list for one string is found here. */
const seed = {
  ...journeySeed,
  tenants: journeySeed.tenants.map(({ persons, ...tenant }) => ({
    ...tenant,
    persons: persons.map((person) => ({ ...person, secondEmail: 'alice@home.test' })),
  })),
};
const service = useIdp({ seed });
afterAll(async () => {
  for (const child of started) child.kill();
});

interface Application {
  readonly path: string;
  /** By default the program of that name here. */
  readonly command?: readonly string[];
  readonly options?: object;
  /** Members of the client's record. */
  readonly [setting: string]: unknown;
}

/** Registers the client, starts the application, and waits until it answers. */
async function startApplication(name: string, { path, command, options = {}, ...client }: Application) {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const id = `${name}-${port}`;
  await service.idp.directory.clients.create({
    id,
    name,
    secret: `${id}-secret`,
    allowedScopes: ['openid', 'profile', 'email'],
    metadata: { redirect_uris: [origin + path] },
    ...client,
  });
  const env = { ISSUER: service.issuer, CLIENT: id, PORT: String(port), OPTIONS: JSON.stringify(options) };
  started.push(await startProgram(command ?? [process.execPath, `dist/test/relying-parties/${name}.js`], env, origin));
  return origin;
}

/** Follows redirects between the application and the service, wherever they lead. */
async function follow(agent: Agent, answer: Answer): Promise<Answer> {
  let current = answer;
  while (current.location) current = await agent.get(current.location);
  return current;
}

async function signedIn(agent: Agent, start: Answer): Promise<Answer> {
  const identifier = await follow(agent, start);
  if (!identifier.url.startsWith(service.issuer)) return identifier;
  const password = await agent.submit(identifier, { identifier: 'alice@acme.test' });
  return follow(agent, await agent.submit(password, { password: 'alice' }));
}

describe('D outside relying parties', () => {
  const path = '/cb';
  const alice = { displayName: 'Alice Adams', emails: [{ value: 'alice@acme.test' }] };

  test('passport-openidconnect by the first example of its README, which brings neither PKCE nor a nonce', async () => {
    const origin = await startApplication('passport', { path });
    const agent = new Agent();
    const answer = await signedIn(agent, await agent.get(`${origin}/login`));
    expect([answer.status, JSON.parse(answer.body)]).toEqual([200, { id: expect.any(String) }]);
  });

  test('passport-openidconnect with a nonce, as the page says', async () => {
    const options = { scope: 'profile email', nonce: true };
    const origin = await startApplication('passport', { path, options, idTokenClaims: 'scopes', email: 'first' });
    const agent = new Agent();
    const answer = await signedIn(agent, await agent.get(`${origin}/login`));
    expect(JSON.parse(answer.body)).toMatchObject(alice);
  });

  test('passport-openidconnect is refused where the client requires PKCE, and told why', async () => {
    const origin = await startApplication('passport', { path, requirePkce: true });
    const agent = new Agent();
    const answer = await signedIn(agent, await agent.get(`${origin}/login`));
    expect([answer.status, new URL(answer.url).searchParams.get('error')]).toEqual([500, 'invalid_request']);
    expect(new URL(answer.url).searchParams.get('error_description')).toContain('requirePkce');
  });

  byHand('Authlib', ['python3', '-c', 'import authlib, flask, requests'], async () => {
    const command = ['python3', 'test/relying-parties/flask_application.py'];
    const origin = await startApplication('authlib', { path, command, idTokenClaims: 'scopes', email: 'first' });
    const agent = new Agent();
    const claims = { name: 'Alice Adams', email: 'alice@acme.test' };
    expect(JSON.parse((await signedIn(agent, await agent.get(`${origin}/login`))).body)).toMatchObject(claims);
  });

  byHand('go-oidc', ['go', 'version'], async () => {
    const folder = mkdtempSync(join(tmpdir(), 'go-oidc-'));
    copyFileSync('test/relying-parties/goidc.go', join(folder, 'main.go'));
    const steps = ['mod init application', 'get github.com/coreos/go-oidc/v3/oidc golang.org/x/oauth2', 'build -o application .'];
    for (const step of steps) execFileSync('go', step.split(' '), { cwd: folder, stdio: 'ignore' });
    const origin = await startApplication('goidc', {
      path,
      command: [join(folder, 'application')],
      idTokenClaims: 'scopes',
      email: 'first',
    });
    const agent = new Agent();
    const claims = { name: 'Alice Adams', email: 'alice@acme.test' };
    expect(JSON.parse((await signedIn(agent, await agent.get(`${origin}/login`))).body)).toMatchObject(claims);
    rmSync(folder, { recursive: true });
  });

  test('Auth.js for Express', async () => {
    const origin = await startApplication('authjs', { path: '/auth/callback/tenant-idp', idTokenClaims: 'scopes', email: 'first' });
    const agent = new Agent();
    const answer = await signedIn(agent, await agent.submit(await agent.get(`${origin}/auth/signin`), {}));
    expect(JSON.parse(answer.body)).toMatchObject({ user: { name: 'Alice Adams', email: 'alice@acme.test' } });
  });
});
