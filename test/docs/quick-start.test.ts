/** docs/quick-start.md: its programs, taken from the page, compiled against the packed package and run outside the repository. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type InstalledPackage, installPackage } from '../package/installed-package.js';
import { startProgram } from '../servers/outside-programs.js';
import { Agent, type Answer, titleOf } from '../support/client/agent.js';
import { freePort } from '../support/service/free-port.js';
import { pageAt } from './pages.js';

const page = pageAt('docs/quick-start.md');
const [idpSection, appSection, claimSection, apiSection] = ['2. The identity provider', '3. An application', '4. A claim', '5. An API'];

function blocksOf(section: string | undefined, language: string): readonly string[] {
  return page.codeBlocks.filter((block) => block.section === section && block.language === language).map(({ code }) => code);
}

/** Returns the JSON that the page shows, with any UUID as `sub` and `tid`. */
function shownIn(section: string | undefined, index = 0): Record<string, unknown> {
  const uuid = expect.stringMatching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  return JSON.parse(blocksOf(section, 'json')[index] ?? '', (name, value) => (name === 'sub' || name === 'tid' ? uuid : value));
}

let ports: Readonly<Record<string, string>>;
let installed: InstalledPackage;
const running = new Map<string, ChildProcess>();

const placed = (text = ''): string => text.replace(/\b300[012]\b/g, (port) => ports[port] ?? port);
const urlOf = (port: string): string => placed(`http://localhost:${port}`);

/** Writes programs into the folder, and compiles them. */
async function compile(programs: Readonly<Record<string, string | undefined>>): Promise<void> {
  const folder = join(installed.project, 'my-login');
  await mkdir(folder, { recursive: true });
  await Promise.all(Object.entries(programs).map(([name, code]) => writeFile(join(folder, `${name}.ts`), placed(code))));
  const files = Object.keys(programs).map((name) => `my-login/${name}.ts`);
  expect(await installed.compile(files, '--rootDir', 'my-login', '--outDir', 'my-login/built')).toEqual([]);
}

async function stop(name: string): Promise<void> {
  const child = running.get(name);
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  child.kill();
  await once(child, 'exit');
}

async function restart(name: string, port: string): Promise<void> {
  await stop(name);
  running.set(name, await startProgram([process.execPath, join(installed.project, `my-login/built/${name}.js`)], {}, urlOf(port)));
}

async function follow(agent: Agent, answer: Answer): Promise<Answer> {
  let current = answer;
  for (let redirects = 0; current.location && redirects < 20; redirects += 1) current = await agent.get(current.location);
  return current;
}

async function signIn(agent: Agent): Promise<Answer> {
  const identifier = await follow(agent, await agent.get(urlOf('3001')));
  expect(titleOf(identifier)).toBe('Sign in to Web');
  const password = await agent.submit(identifier, { identifier: 'alice@acme.test' });
  return follow(agent, await agent.submit(password, { password: 'alice' }));
}

async function callApi(token?: string) {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return (await fetch(urlOf('3002'), { headers })).json();
}

beforeAll(async () => {
  installed = await installPackage();
  ports = { 3000: String(await freePort()), 3001: String(await freePort()), 3002: String(await freePort()) };
});
afterAll(async () => {
  for (const name of running.keys()) await stop(name);
});

describe('the quick start', () => {
  let accessToken: string;

  test('installs each package that its programs import', () => {
    const commands = blocksOf('1. A folder', 'sh').join('');
    const sources = page.codeBlocks.filter(({ language }) => language === 'ts').map(({ code }) => code);
    const imported = sources.flatMap((code) => [...code.matchAll(/from '(?!node:)([^']+)'/g)].map(([, name = '']) => name));
    expect(new Set(imported).size).toBeGreaterThan(3);
    expect(imported.filter((name) => !commands.includes(name))).toEqual([]);
  });

  test('step 2: the server answers its own page, and discovery', async () => {
    await compile({ idp: blocksOf(idpSection, 'ts')[0] });
    await restart('idp', '3000');
    const [printed = '', ownPage = ''] = blocksOf(idpSection, 'text').map((text) => placed(text).trim());
    expect(printed).toBe(urlOf('3000'));
    expect(await (await fetch(urlOf('3000'))).text()).toBe(ownPage);
    const discovery = await fetch(`${urlOf('3000')}/.well-known/openid-configuration`);
    expect(await discovery.json()).toEqual(expect.objectContaining({ issuer: urlOf('3000') }));
  });

  test('step 3: Alice signs in, and is not asked again', async () => {
    await compile({ app: blocksOf(appSection, 'ts')[0] });
    await restart('app', '3001');
    const agent = new Agent();
    const shown = { ...shownIn(appSection), accessToken: expect.any(String) };
    expect(JSON.parse((await signIn(agent)).body)).toEqual(shown);
    expect(JSON.parse((await follow(agent, await agent.get(urlOf('3001')))).body)).toEqual(shown);
  });

  test('step 4: the application gets the claim', async () => {
    const [idp, scope = ''] = blocksOf(claimSection, 'ts');
    const [app = ''] = blocksOf(appSection, 'ts');
    const changed = app.replace(/^const scope.*\n/m, scope);
    expect(changed).not.toBe(app);
    await compile({ idp, app: changed });
    await restart('idp', '3000');
    await restart('app', '3001');
    const answer = JSON.parse((await signIn(new Agent())).body);
    const { accessToken: beginning, ...shown } = shownIn(claimSection);
    expect(answer).toEqual({ ...shown, accessToken: expect.stringMatching(new RegExp(`^${beginning}`)) });
    accessToken = answer.accessToken;
  });

  test('step 5: the API refuses calls without a token or with a changed one, and answers with the token', async () => {
    await compile({ api: blocksOf(apiSection, 'ts')[0] });
    await restart('api', '3002');
    expect(await callApi()).toEqual(shownIn(apiSection, 0));
    expect(await callApi(accessToken)).toEqual(shownIn(apiSection, 1));
    const middle = Math.floor(accessToken.length / 2);
    const other = accessToken[middle] === 'A' ? 'B' : 'A';
    expect(await callApi(accessToken.slice(0, middle) + other + accessToken.slice(middle + 1))).toEqual(shownIn(apiSection, 2));
  });
});
