/** Signs in with an application of docs/connect-an-application.md: its own program, the settings of its row, and a person with two addresses. */
import { type ChildProcess, execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect } from '@jest/globals';
import typescript from 'typescript';
import { startProgram } from '../servers/outside-programs.js';
import { testTls } from '../support/browser/tls.js';
import { Agent, type Answer } from '../support/client/agent.js';
import { journeySeed } from '../support/client/journey.js';
import { freePort } from '../support/service/free-port.js';
import { startIdp, type TestIdp } from '../support/service/idp.js';
import { until } from '../support/time/until.js';
import { applicationNamed, blocksOf, clientSettings, isSent, page } from './applications.js';

/** Place at which an application runs, and its settings. */
export interface Place {
  readonly issuer: string;
  readonly origin: string;
  readonly port: number;
  /** An empty folder, which is removed afterwards. */
  readonly folder: string;
  /** The blocks of the section, with the addresses of the service and the application. */
  readonly blocks: readonly string[];
  /** The client's secret, secrets of the application alone, and the certificate of the service for common libraries. */
  readonly env: Readonly<Record<string, string>>;
}

export interface Way {
  /** Path of the redirect URI, as the section has it. */
  readonly callback: string;
  /** More metadata of the client. */
  readonly metadata?: (origin: string) => object;
  /** More members of the client's record than the row asks for. */
  readonly settings?: { readonly email?: 'first' };
  /** Makes and starts the program, which listens at the place's port. */
  readonly start: (place: Place) => Promise<ChildProcess>;
  /** Makes an application that stores people forget them. */
  readonly forget?: (place: Place) => void;
  /** Changes a block of the section, for example to the code of the library's own documentation. */
  readonly change?: (block: string) => string;
  /** Whether the changed blocks send PKCE and a nonce. Default: as the row says */
  readonly sends?: { readonly pkce: boolean; readonly nonce: boolean };
  /** Asks the application to sign in. Default: GET /login */
  readonly open?: (agent: Agent, origin: string) => Promise<Answer>;
  /** Returns the person's data on the application's last page. Default: the JSON of this page. */
  readonly shown?: (answer: Answer) => unknown;
  /** Members that the result of `shown` has. */
  readonly claims?: object;
  /** For `RP-initiated`: asks the application to sign out, and the path where the browser ends. */
  readonly signOut?: { readonly ask: (agent: Agent, origin: string) => Promise<Answer>; readonly end: string };
  /** For `back channel`: the path that takes logout tokens, and a page that the application shows only to signed-in people. */
  readonly backChannel?: { readonly path: string; readonly page: string };
}

/** Tenants in which Alice has two addresses, so that these tests find an application that takes a list for one string. */
export const tenants = journeySeed.tenants.map(({ persons, ...tenant }) => ({
  ...tenant,
  persons: persons.map((person) => ({ ...person, secondEmail: 'alice@home.test' })),
}));

const SECRET = 'a secret of the client alone, long enough';
/** 32 bytes in base64url, also for sections that name hexadecimal. */
const KEY = 'QmFzZTY0dXJsIG9mIHRoaXJ0eS10d28gYnl0ZXMgISE';

/** Returns code of the page with the addresses of this test. */
export const placed = (code: string, issuer: string, origin: string): string =>
  code
    .replaceAll('https://login.example.com', issuer)
    .replaceAll('login.example.com', new URL(issuer).host)
    .replaceAll('https://app.example.com', origin)
    .replaceAll(encodeURIComponent(encodeURIComponent('https://app.example.com')), encodeURIComponent(encodeURIComponent(origin)))
    .replaceAll('app.example.com', new URL(origin).host)
    .replace(/\b(?:3001|8080)\b/g, new URL(origin).port);

/** Follows redirects between the application and the service, wherever they lead. */
async function follow(agent: Agent, answer: Answer, visited: URL[] = []): Promise<Answer> {
  let current = answer;
  while (current.location) {
    if (visited.length > 50) throw new Error(`redirects without an end: ${visited.slice(-6).join(' ')}`);
    visited.push(new URL(current.location));
    current = await agent.get(current.location);
  }
  return current;
}

/** Signs in at the service. Returns the last answer of the application, and the addresses on the way. */
export async function signIn(agent: Agent, start: Answer) {
  const visited = [new URL(start.url)];
  const identifier = await follow(agent, start, visited);
  const request = visited.find(({ pathname }) => pathname === '/connect/authorize');
  if (request === undefined || !identifier.body.includes('name="identifier"'))
    throw new Error(`no sign-in page, but ${identifier.status} ${identifier.url}: ${identifier.body.slice(0, 2000)}`);
  const password = await agent.submit(identifier, { identifier: 'alice@acme.test' });
  const answer = await follow(agent, await agent.submit(password, { password: 'alice' }), visited);
  return { answer, request };
}

/** Signs out at an application that gives the service no ID token, so that the person is asked. */
export async function signOutAfterQuestion(agent: Agent, url: string): Promise<Answer> {
  return agent.submit(await follow(agent, await agent.get(url)), { logout: 'yes' });
}

const openLogin = (agent: Agent, origin: string) => agent.get(`${origin}/login`);

/** Returns the client as the section says, without the settings that its row requires. */
const recordOf = ({ callback, metadata, signOut, backChannel }: Way, origin: string) => ({
  id: 'web',
  name: 'Web',
  secret: SECRET,
  allowedScopes: ['openid', 'profile', 'email'],
  metadata: {
    redirect_uris: [origin + callback],
    ...(signOut && { post_logout_redirect_uris: [origin + signOut.end] }),
    ...(backChannel && { backchannel_logout_uri: origin + backChannel.path }),
    ...metadata?.(origin),
  },
});

/**
 * Signs out at the service if the application supports the back channel. Signs out at the application if this also ends the session at
 * the service.
 */
async function trySignOut(
  { open = openLogin, signOut, backChannel }: Way,
  agent: Agent,
  { issuer, origin }: Pick<Place, 'issuer' | 'origin'>,
): Promise<void> {
  if (backChannel) await signOutOverBackChannel(agent, issuer, origin + backChannel.page);
  if (!signOut) return;
  if (backChannel) await signIn(agent, await open(agent, origin));
  const asked = await signOut.ask(agent, origin);
  const visited: URL[] = [];
  await follow(agent, asked, visited);
  expect(visited.map((url) => url.origin + url.pathname)).toContain(new URL(origin + signOut.end).href);
  const again = await follow(agent, await open(agent, origin));
  expect(again.body).toContain('name="identifier"');
}

/** Signs in and out as the row and the section say. @throws Error if the row or the section is not true */
export async function trySignIn(name: string, way: Way): Promise<void> {
  const application = applicationNamed(name);
  const { start, change = (block: string) => block, shown = jsonOf } = way;
  const { open = openLogin, claims = { name: 'Alice Adams', email: 'alice@acme.test' } } = way;
  const sends = way.sends ?? { pkce: isSent(application.pkce), nonce: isSent(application.nonce) };
  expect(page.section(application.section)).toContain(way.callback);

  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const settings = { ...clientSettings(application), ...way.settings, ...(sends.pkce && { requirePkce: true }) };
  const folder = mkdtempSync(join(tmpdir(), 'relying-party-'));
  let service: TestIdp | undefined;
  let program: ChildProcess | undefined;
  try {
    service = await startIdp({
      tls: true,
      outgoing: { allowHosts: [`127.0.0.1:${port}`] },
      seed: { ...journeySeed, tenants, clients: [{ ...recordOf(way, origin), ...settings }] },
    });
    const { issuer, idp } = service;
    const certificate = join(folder, 'certificate.pem');
    writeFileSync(certificate, testTls.cert);
    const env = {
      CLIENT_SECRET: SECRET,
      COOKIE_SECRET: KEY,
      AUTH_SECRET: KEY,
      NODE_EXTRA_CA_CERTS: certificate,
      SSL_CERT_FILE: certificate,
      REQUESTS_CA_BUNDLE: certificate,
    };
    const blocks = blocksOf(application.section).map(({ code }) => placed(change(code), issuer, origin));
    const place = { issuer, origin, port, folder, blocks, env };
    program = await start(place);

    const agent = new Agent();
    const { answer, request } = await signIn(agent, await open(agent, origin));
    expect({ status: answer.status, shown: shown(answer) }).toEqual({ status: 200, shown: expect.objectContaining(claims) });
    const sent = ['code_challenge', 'nonce'].map((parameter) => request.searchParams.has(parameter));
    expect({ pkce: sent[0], nonce: sent[1] }).toEqual(sends);

    await trySignOut(way, agent, { issuer, origin });
    expect([...(way.signOut ? ['RP-initiated'] : []), ...(way.backChannel ? ['back channel'] : [])]).toEqual(application.signOut);

    // Without a setting that the row requires, the application does not show the claims.
    for (const setting of (['email', 'idTokenClaims'] as const).filter((one) => settings[one])) {
      await idp.directory.clients.update('web', { [setting]: setting === 'email' ? 'all' : 'minimal' });
      way.forget?.(place);
      const other = new Agent();
      const { answer: without } = await signIn(other, await open(other, origin));
      const isShown = without.status === 200 && without.url.startsWith(origin) && isJson(without.body) ? shown(without) : without.body;
      expect(isShown).not.toEqual(expect.objectContaining(claims));
      await idp.directory.clients.update('web', { [setting]: settings[setting] });
    }
  } finally {
    if (program && program.exitCode === null) {
      program.kill();
      await once(program, 'exit');
    }
    await service?.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const jsonOf = ({ body }: Answer): unknown => (isJson(body) ? JSON.parse(body) : body.slice(0, 2000));

/** Signs the person out at the service itself. */
async function signOutOverBackChannel(agent: Agent, issuer: string, address: string): Promise<void> {
  expect((await agent.get(address)).status).toBe(200);
  const question = await follow(agent, await agent.get(`${issuer}/connect/endsession`));
  await follow(agent, await agent.submit(question, { logout: 'yes' }));
  await until(
    () => agent.get(address),
    ({ status }) => status !== 200,
  );
}

/** Installs packages that the repository does not have, in the versions of the row. @param more packages, in their newest version */
export function installPackages(folder: string, name: string, more: readonly string[] = []): void {
  const packages = [...applicationNamed(name).triedWith].map(([one, version]) => `${one}@${version}`);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...packages, ...more];
  execFileSync('npm', args, { cwd: folder, stdio: 'ignore' });
}

/** Compiles a block with the types of the packages in the folder, for Node or for a bundler. @throws Error with the compiler's messages */
export function checkTypes(folder: string, block: string, isBundled = false): void {
  const types = join(folder, 'types');
  mkdirSync(types, { recursive: true });
  writeFileSync(join(types, 'program.ts'), block);
  const bundler = { module: 'preserve', moduleResolution: 'bundler' };
  const compilerOptions = { ...(isBundled && bundler), noEmit: true, rootDir: folder, typeRoots: [resolve('node_modules/@types')] };
  const project = join(types, 'tsconfig.json');
  writeFileSync(project, JSON.stringify({ extends: resolve('tsconfig.json'), compilerOptions, include: ['program.ts'] }));
  const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', project, '--pretty', 'false'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(stdout);
}

const compiler = resolve('node_modules/@typescript/native/bin/tsc');
const modern = { target: typescript.ScriptTarget.ES2023, module: typescript.ModuleKind.ESNext };

/** Returns the JavaScript of a block. Types are not checked. */
export const compiled = (source: string): string => typescript.transpileModule(source, { compilerOptions: modern }).outputText;

/**
 * Runs a block of TypeScript in Node, with the packages of the repository.
 * @param around a module that imports the block from the path in `BLOCK`.
 */
export async function startBlock({ blocks, env, origin, port }: Place, around?: string): Promise<ChildProcess> {
  mkdirSync('dist/relying-parties', { recursive: true });
  const file = resolve(`dist/relying-parties/program-${port}.mjs`);
  writeFileSync(file, compiled(blocks[0] ?? ''));
  const program = await startProgram([process.execPath, around ?? file], { ...env, BLOCK: file, PORT: String(port) }, origin);
  program.once('exit', () => rmSync(file, { force: true }));
  return program;
}

/** Compiles a block of TypeScript and runs it in Node, with packages that are installed for it. */
export async function startInstalled(
  name: string,
  { blocks: [block = ''], env, origin, folder }: Place,
  more: readonly string[] = [],
): Promise<ChildProcess> {
  installPackages(folder, name, ['express', '@types/express', ...more]);
  checkTypes(folder, block);
  const file = join(folder, 'program.mjs');
  writeFileSync(file, compiled(block));
  return startProgram([process.execPath, file], env, origin);
}
