/** Applications written by others, each a process of its own, by the first example of its own documentation: docs/connect-an-application.md. */
import { type ChildProcess, execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect } from '@jest/globals';
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
  readonly command: readonly string[];
  /** Members of the client's record. */
  readonly [setting: string]: unknown;
}

/** Registers the client, starts the application, and waits until it answers. */
async function startApplication(name: string, { path, command, ...client }: Application) {
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
  const env = { ISSUER: service.issuer, CLIENT: id, PORT: String(port) };
  started.push(await startProgram(command, env, origin));
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
});
