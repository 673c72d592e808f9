/** SAML Profiles §4.1 and §4.4 with libraries of others: each service provider is its own process, and is registered as docs/saml-products.md says. */
import { type ChildProcess, execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { pageAt } from '../../docs/pages.js';
import { byHand, startProgram } from '../../servers/outside-programs.js';
import { Agent, type Answer } from '../../support/client/agent.js';
import { testKeyOf } from '../../support/saml/keys/test-keys.js';
import { asAdministrator } from '../../support/saml/service/administration.js';
import { alice, type SamlInUse, useSamlService } from '../../support/saml/service/use-saml-service.js';
import { travelWithCookies } from '../../support/saml/service-providers/travel.js';
import { freePort } from '../../support/service/free-port.js';

const started: ChildProcess[] = [];
const folders: string[] = [];
afterAll(() => {
  for (const child of started) child.kill();
  for (const folder of folders) rmSync(folder, { recursive: true });
});

interface Library {
  /** Heading on the page. */
  readonly name: string;
  readonly command: () => readonly string[];
  /** Whether the library returns the RelayState unchanged. @default true */
  readonly hasRelayState?: boolean;
}

const page = pageAt('docs/saml-products.md');
const onPage = 'https://app.example.com';
/** Returns the version that the page names. */
const versionOf = (name: string): string => page.table('Libraries', 'Library').find(([library]) => library === name)?.[1] ?? '';
/** Returns the body for the admin API on the page. */
const recordOf = (name: string): string =>
  page.codeBlocks.find(({ section, language }) => section === name && language === 'json')?.code ?? '';

const relayState = '/deep link?a=1&b=two words+more';

/** Keys as during a rotation: the active key and the next key. */
const keys = (await Promise.all(['active', 'next'].map(testKeyOf))).map(({ key, certificate }) => ({ key, certificate }));

interface Signed {
  readonly nameId: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly relayState?: string;
}

interface Application {
  readonly origin: string;
  readonly entityId: string;
  /** URL of the tenant's entity, without `/metadata`. */
  readonly idp: string;
  /** Follows redirects and forms until a page that waits for the user. */
  go(agent: Agent, from: Answer | string): Promise<Answer>;
  /** Follows redirects and forms as Alice, who signs in if she is asked. */
  enter(agent: Agent, from?: string): Promise<Answer>;
  /** Returns the user who is signed in at the application. */
  inside(agent: Agent): Promise<Signed | null>;
}

/** Starts and registers an application. @param isSecured whether it signs its requests and accepts encrypted assertions */
async function start(service: SamlInUse, { name, command }: Library, isSecured: boolean): Promise<Application> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const tid = await service.tid('Acme');
  const { key, certificate } = await testKeyOf(name);
  const env = {
    IDP: `${service.issuer}/idp/saml/t/${tid}`,
    ORIGIN: origin,
    PORT: String(port),
    KEY: key,
    CERTIFICATE: certificate,
    ...(isSecured ? { SECURED: 'yes' } : {}),
  };
  const admin = await asAdministrator(service.issuer, 'acme');
  // samlify signs its requests only if the metadata of the service asks for signed requests.
  const asked = await admin.patch(`/tenants/${tid}/saml-entity`, { wantAuthnRequestsSigned: isSecured });
  expect(asked.status).toBe(200);
  started.push(await startProgram(command(), env, origin));
  const record = JSON.parse(recordOf(name).replaceAll(onPage, origin));
  const { status, json, text } = await admin.post(`/tenants/${tid}/saml-service-providers`, {
    ...record,
    ...(isSecured ? { idpInitiated: { isAllowed: true } } : {}),
  });
  expect([status, status === 201 ? '' : text]).toEqual([201, '']);
  // These members come from the application's metadata.
  if (isSecured) expect(json).toMatchObject({ requireSignedRequests: true, encryption: expect.stringContaining('gcm') });
  const go: Application['go'] = (agent, from) => travelWithCookies(agent, from, origin);
  return {
    origin,
    entityId: json.entityId,
    idp: env.IDP,
    go,
    async enter(agent, from = `${origin}/login`) {
      const asked = await go(agent, from);
      if (!asked.url.startsWith(service.issuer)) return asked;
      const password = await agent.submit(asked, { identifier: alice.userName });
      return go(agent, await agent.submit(password, { password: alice.password }));
    },
    inside: async (agent) => JSON.parse((await agent.get(`${origin}/`)).body),
  };
}

test.each([
  ['passport-saml', '@node-saml/passport-saml'],
  ['samlify', 'samlify'],
])('the page names the version of %s that is tried', (name, directory) => {
  expect(versionOf(name)).toBe(JSON.parse(readFileSync(`node_modules/${directory}/package.json`, 'utf8')).version);
});

describe.each([
  ['with their defaults', false],
  ['with signed requests, encrypted assertions, and two certificates in our metadata', true],
] as const)('service providers of others %s', (_, isSecured) => {
  const service = useSamlService({
    outgoing: { allowHosts: ['127.0.0.1'] },
    ...(isSecured ? { saml: { keys } } : {}),
  });
  const scenario = async (library: Library): Promise<void> => {
    const { hasRelayState = true } = library;
    const { origin, entityId, idp, go, enter, inside } = await start(service, library, isSecured);

    // A sign-in that begins at the application.
    const first = new Agent();
    const login = `${origin}/login${hasRelayState ? `?RelayState=${encodeURIComponent(relayState)}` : ''}`;
    const end = await enter(first, login);
    expect([end.url, end.status, end.url === `${origin}/` ? '' : end.body]).toEqual([`${origin}/`, 200, '']);
    expect(await inside(first)).toMatchObject({ nameId: expect.any(String), ...(hasRelayState ? { relayState } : {}) });
    expect(JSON.stringify((await inside(first))?.attributes)).toContain('alice@acme.test');

    // A sign-out at the application ends the session here.
    const out = await go(first, `${origin}/logout`);
    expect([out.url, out.status]).toEqual([`${origin}/`, 200]);
    expect(await inside(first)).toBeNull();
    expect((await go(first, `${origin}/login`)).url.startsWith(service.issuer)).toBe(true);

    // A sign-out here ends the session at the application. The page names no application that did not answer.
    const second = new Agent();
    await enter(second, login);
    const question = await second.get(`${service.issuer}/connect/endsession`);
    const signedOut = await go(second, await second.submit(question, { logout: 'yes' }));
    expect([signedOut.url.startsWith(service.issuer), signedOut.status]).toEqual([true, 200]);
    expect(signedOut.body).not.toContain(library.name);
    expect(await inside(second)).toBeNull();

    // A sign-in that begins here, by a link.
    if (!isSecured) return;
    const third = new Agent();
    await enter(third, `${idp}/init?${new URLSearchParams({ sp: entityId, RelayState: '/' })}`);
    expect(await inside(third)).toMatchObject({ nameId: expect.any(String) });
  };

  const own = (name: string): Library => ({ name, command: () => [process.execPath, `dist/test/saml/outside/${name}.js`] });
  const ordinary = ['passport-saml', 'samlify'].map(own);
  test.each(ordinary)('$name', scenario);

  test('one sign-in for both, and a sign-out at either reaches the other', async () => {
    const applications = [];
    for (const library of ordinary) applications.push(await start(service, library, isSecured));
    for (const leaving of applications) {
      const agent = new Agent();
      const names = [];
      for (const { origin, enter, go, inside } of applications) {
        // The second sign-in shows no page.
        await (names.length === 0 ? enter(agent) : go(agent, `${origin}/login`));
        names.push((await inside(agent))?.nameId);
      }
      expect(names).toEqual(['alice@acme.test', 'alice@acme.test']);
      const out = await leaving.go(agent, `${leaving.origin}/logout`);
      expect([out.url, out.status]).toEqual([`${leaving.origin}/`, 200]);
      for (const { inside } of applications) expect(await inside(agent)).toBeNull();
    }
  });

  byHand('python3-saml', ['python3', '-c', 'import venv, ensurepip'], () =>
    scenario({ name: 'python3-saml', command: () => [python(), 'test/saml/outside/python3_saml.py'] }),
  );
  byHand('omniauth-saml', ['ruby', '-e', 'require "webrick"; require "omniauth-saml"'], () =>
    scenario({ name: 'omniauth-saml', command: () => ['ruby', 'test/saml/outside/omniauth_saml.rb'] }),
  );
  byHand('crewjam/saml', ['go', 'version'], () => scenario({ name: 'crewjam/saml', command: () => [crewjam()], hasRelayState: false }));
});

/** Makes a value once, in its own folder. */
const once = (make: (folder: string) => string): (() => string) => {
  let made: string | undefined;
  return () => {
    if (made === undefined) {
      const folder = mkdtempSync(join(tmpdir(), 'saml-outside-'));
      folders.push(folder);
      made = make(folder);
    }
    return made;
  };
};

/** Returns a Python that has python3-saml. */
const python = once((folder) => {
  execFileSync('python3', ['-m', 'venv', folder], { stdio: 'ignore' });
  const packages = [`python3-saml==${versionOf('python3-saml')}`, 'flask'];
  execFileSync('nice', [join(folder, 'bin/pip'), 'install', '--quiet', ...packages], { stdio: ['ignore', 'ignore', 'inherit'] });
  return join(folder, 'bin/python3');
});

/** Returns the program by crewjam/saml. */
const crewjam = once((folder) => {
  copyFileSync('test/saml/outside/crewjam.go', join(folder, 'main.go'));
  for (const step of ['mod init application', `get github.com/crewjam/saml/samlsp@v${versionOf('crewjam/saml')}`, 'build -o application .'])
    execFileSync('nice', ['go', ...step.split(' ')], { cwd: folder, stdio: 'ignore' });
  return join(folder, 'application');
});
