/** Design §2: the house, its rooms and who may import whom; then the checker itself, on houses with a planted fault. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import ts from 'typescript';
import { cycles, drawerProblems, importProblems } from './house.js';
import { importsOf, parse, readGraph } from './imports.js';

interface Manifest {
  readonly dependencies: Record<string, string>;
  readonly peerDependencies?: Record<string, string>;
}

const houseFolders = ['lib', 'adapters', 'extensions', 'examples'];
const allFolders = [...houseFolders, 'test', 'bench'];
const existing = (folders: readonly string[]) => folders.filter((folder) => readdirSync('.').includes(folder));

/** Returns the statements of a door that are more than a re-export with names. */
const workInDoor = (text: string) =>
  parse('lib/index.ts', text)
    .statements.filter((statement) => !(ts.isExportDeclaration(statement) && statement.moduleSpecifier && statement.exportClause))
    .map(({ kind }) => ts.SyntaxKind[kind]);

describe('design §2: the house', () => {
  const everything = readGraph(existing(allFolders));
  const graph = Object.fromEntries(Object.entries(everything).filter(([file]) => houseFolders.includes(file.split('/', 1)[0] ?? '')));
  const { dependencies, peerDependencies = {} } = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest;
  const shipped = Object.keys({ ...dependencies, ...peerDependencies });

  test('each file imports only what its room may', () => {
    expect(Object.keys(graph).length).toBeGreaterThan(5);
    expect(importProblems(graph, shipped)).toEqual([]);
  });

  test('there are no import cycles, tests included', () => {
    expect(cycles(everything)).toEqual([]);
  });

  test('no file or folder has a name that says nothing', () => {
    expect(drawerProblems(Object.keys(everything))).toEqual([]);
  });

  test('tests are in test/, where they are run', () => {
    expect(Object.keys(everything).filter((file) => /\.test\.ts$/.test(file) && !file.startsWith('test/'))).toEqual([]);
  });

  test('each room of lib says what it is, in three to ten lines at the head of one of its files', () => {
    const rooms = readdirSync('lib', { withFileTypes: true, recursive: true }).flatMap((entry) =>
      entry.isDirectory() ? `${entry.parentPath}/${entry.name}` : [],
    );
    const isHead = (file: string) => {
      const [head = ''] = /^\/\*\*\n[\s\S]*?\*\/\n/.exec(readFileSync(file, 'utf8')) ?? [];
      const lines = head.split('\n').length - 1;
      return lines >= 5 && lines <= 10 && /^ \* [A-Z][^\n]*[.:]/m.test(head);
    };
    const filesOf = (room: string) => readdirSync(room).flatMap((name) => (name.endsWith('.ts') ? `${room}/${name}` : []));
    expect(rooms.length).toBeGreaterThan(30);
    expect(rooms.filter((room) => !filesOf(room).some(isHead))).toEqual([]);
  });

  test('T3-DOS-NFKC: text is normalised in one place of lib, in time that grows with its length alone', () => {
    const sources = Object.keys(graph).filter((file) => file.startsWith('lib/'));
    expect(sources.filter((file) => /\.normalize\(/.test(readFileSync(file, 'utf8')))).toEqual(['lib/text/normal-form.ts']);
  });

  test('L6: nothing reads the clock of the node, except the module for it and what is listed here with its reason', () => {
    const reasons: Readonly<Record<string, string>> = {
      'lib/times/node-time.ts': 'is the module for it',
      'lib/store/times/clock.ts': 'compares the clock with that of the store',
      'lib/store/times/store-time.ts': 'converts the times of artifacts, and is the time of a store that tells none',
      'lib/admin-client/access-tokens.ts': 'runs in the process of a caller, which has no store',
      'lib/testing/cookies.ts': 'runs in tests of hosts, as a browser',
      'lib/testing/resolve-claims.ts': 'runs in tests of hosts, without a store',
      'extensions/saml/entities/given-keys.ts': 'checks options before a store is open',
    };
    const sources = Object.keys(graph).filter((file) => /^(?:lib|extensions)\//.test(file));
    const reading = sources.filter((file) => /\bDate\.now\b|\bnew Date\(\)/.test(readFileSync(file, 'utf8')));
    expect(reading.sort()).toEqual(Object.keys(reasons).sort());
  });

  test('L6: the clock of the node is asked for the ends of artifacts, for what the process remembers, and by what oidc-provider compares with it', () => {
    const reasons: Readonly<Record<string, string>> = {
      'lib/directory/accounts/recent-cutoffs.ts': 'the end of an artifact',
      'lib/directory/create-directory.ts': 'the time of a directory without a store of artifacts',
      'lib/directory/outbox/event-trials.ts': 'remembers',
      'lib/directory/outbox/outbox.ts': 'remembers',
      'lib/directory/tenants/sign-in-policy.ts': 'remembers',
      'lib/extension-door.ts': 'passes `secondsAhead` on',
      'lib/fetch/remote-documents.ts': 'remembers',
      'lib/oidc/accounts/login-context.ts': 'ends',
      'lib/oidc/accounts/offline-access.ts': 'ends',
      'lib/oidc/artifacts/model-adapter.ts': 'ends',
      'lib/oidc/artifacts/token-records.ts': 'ends',
      'lib/oidc/authorize/completed-requests.ts': 'ends',
      'lib/oidc/authorize/plain-door.ts': 'ends',
      'lib/oidc/authorize/pushed-requests.ts': 'ends',
      'lib/oidc/authorize/request-uris.ts': 'remembers',
      'lib/oidc/clients/key-sets.ts': 'remembers',
      'lib/oidc/sessions/asked-in-sign-in.ts': 'ends',
      'lib/oidc/sessions/impersonations.ts': 'ends',
      'lib/oidc/sessions/browser-state.ts': 'remembers',
      'lib/oidc/sessions/logout.ts': 'ends',
      'lib/oidc/sessions/one-time-records.ts': 'ends',
      'lib/oidc/sessions/sessions.ts': 'ends',
      'lib/oidc/sessions/sign-out-result.ts': 'ends',
      'lib/oidc/sessions/user-sessions.ts': 'converts ends',
      'lib/oidc/tokens/access-token-jwt.ts': 'converts ends',
      'lib/oidc/tokens/grants/client-credentials.ts': 'ends',
      'lib/oidc/tokens/grants/extension-grants.ts': 'ends',
      'lib/oidc/tokens/introspection.ts': 'converts ends',
      'lib/oidc/tokens/issue.ts': 'ends',
      'lib/oidc/tokens/lifetimes.ts': 'ends',
      'lib/oidc/tokens/read-access-token.ts': 'converts ends',
      'lib/oidc/upstream/base-model.ts': 'ends',
      'lib/oidc/upstream/client.ts': 'oidc-provider compares',
      'lib/oidc/upstream/id-token.ts': 'converts what oidc-provider stamps',
      'lib/oidc/upstream/provider.ts': 'oidc-provider compares',
      'lib/oidc/upstream/session.ts': 'ends',
      'lib/store/outages/reachable.ts': 'ends',
      'lib/store/records/extension-artifacts.ts': 'ends',
    };
    const asking = Object.keys(graph).filter((file) => /\/node-time\.js'/.test(readFileSync(file, 'utf8')));
    expect(asking.sort()).toEqual(Object.keys(reasons).sort());
  });

  test('URLs are tried by `canParseUrl`, because `URL.canParse` of Node 20 refuses some once it is optimised', () => {
    const sources = Object.keys(graph).filter((file) => /^(?:lib|extensions|adapters|examples)\//.test(file));
    expect(sources.filter((file) => /\bURL\.canParse\(/.test(readFileSync(file, 'utf8')))).toEqual([]);
  });

  test('R3-PROTO: a name that came with a request is looked up by `ownMember` alone', () => {
    const sources = Object.keys(graph).filter((file) => /^(?:lib|extensions)\//.test(file));
    const byRequest = /\w\[(?:String\()?(?:formField\(|ctx\.(?:query|params|request|headers|get)\b)/;
    expect(sources.filter((file) => byRequest.test(readFileSync(file, 'utf8')))).toEqual([]);
  });

  test('each file that leans on what oidc-provider does not document has a pin test of its name', () => {
    const names = (folder: string, end: string) =>
      readdirSync(folder).flatMap((file) => (file.endsWith(end) ? file.slice(0, -end.length) : []));
    const leaning = names('lib/oidc/upstream', '.ts').filter((name) => !name.endsWith('.d'));
    expect(names('test/oidc/upstream', '.test.ts')).toEqual(leaning);
  });

  test.each(['lib/index.ts', ...readdirSync('lib').flatMap((file) => (file.endsWith('-door.ts') ? `lib/${file}` : []))])(
    '%s re-exports by name and does nothing else',
    (door) => {
      expect(workInDoor(readFileSync(door, 'utf8'))).toEqual([]);
    },
  );
});

describe('the checker finds', () => {
  const problemsOf = (file: string, ...imports: string[]) => importProblems({ [file]: imports }, ['koa', 'oidc-provider', '@koa/router']);

  test.each([
    ['lib/store/caches/cache.ts', 'lib/directory/persons/persons.ts'],
    ['lib/errors.ts', 'type lib/logger.ts'],
    ['lib/directory/persons/persons.ts', 'lib/oidc/sessions/sessions.ts'],
    ['lib/directory/persons/persons.ts', 'type lib/claims/contract.ts'],
    ['lib/directory/persons/persons.ts', 'type lib/directory/accounts/accounts.ts'],
    ['lib/directory/context.ts', 'type lib/directory/index.ts'],
    ['lib/directory/credentials/secrets.ts', 'lib/directory/signing-keys/key-rotation.ts'],
    ['lib/directory/outbox/outbox.ts', 'lib/directory/seed/seed.ts'],
    ['lib/oidc/protocol.ts', 'lib/http/app.ts'],
    ['lib/oidc/protocol.ts', 'lib/options/options.ts'],
    ['lib/oidc/protocol.ts', 'extensions/ciba/index.ts'],
    ['lib/oidc/protocol.ts', 'oidc-provider/lib/helpers/errors.js'],
    ['lib/oidc/protocol.ts', 'lib/service/create-identity-provider.ts'],
    ['lib/oidc/tokens/introspection.ts', 'type lib/oidc/protocol.ts'],
    ['lib/oidc/tokens/introspection.ts', 'lib/oidc/interactions/restart.ts'],
    ['lib/oidc/tokens/possession.ts', 'lib/oidc/authorize/checks.ts'],
    ['lib/oidc/authorize/checks.ts', 'type lib/oidc/tokens/introspection.ts'],
    ['lib/oidc/authorize/prompts.ts', 'lib/oidc/interactions/restart.ts'],
    ['lib/oidc/sessions/logout.ts', 'lib/oidc/authorize/prompts.ts'],
    ['lib/oidc/accounts/account.ts', 'type lib/oidc/sessions/sessions.ts'],
    ['lib/oidc/context.ts', 'type lib/oidc/clients/pairwise.ts'],
    ['lib/oidc/keys/keys.ts', 'lib/oidc/upstream/provider.ts'],
    ['lib/oidc/artifacts/model-adapter.ts', 'lib/oidc/upstream/provider.ts'],
    ['lib/claims/resolver.ts', 'type lib/oidc/protocol.ts'],
    ['lib/contract/extension.ts', 'type lib/options/options.ts'],
    ['lib/http/app.ts', 'lib/index.ts'],
    ['lib/http/app.ts', 'type oidc-provider'],
    ['lib/contract/extension.ts', 'type oidc-provider'],
    ['lib/contract/extension.ts', 'lib/oidc/protocol.ts'],
    ['lib/options/options.ts', 'adapters/memory/index.ts'],
    ['lib/options/options.ts', 'tenant-idp'],
    ['lib/options/options.ts', 'lodash'],
    ['lib/options/options.ts', 'type @types/koa'],
    ['lib/options/options.ts', '?'],
    ['lib/service/create-identity-provider.ts', 'oidc-provider'],
    ['lib/service/create-identity-provider.ts', 'adapters/redis/index.ts'],
    ['lib/service/create-identity-provider.ts', 'extensions/sign-in/index.ts'],
    ['lib/service/create-identity-provider.ts', 'test/support/time/clock.ts'],
    ['extensions/sign-in/routes.ts', 'extensions/claims/index.ts'],
    ['extensions/sign-in/views/login.ts', 'lib/store/records/records.ts'],
    ['extensions/sign-in/routes.ts', 'type lib/oidc/interactions/interactions.ts'],
    ['extensions/sign-in/routes.ts', 'lib/http/requests/form.ts'],
    ['extensions/sign-in/routes.ts', 'type lib/contract/extension.ts'],
    ['extensions/sign-in/routes.ts', 'adapters/memory/index.ts'],
    ['extensions/sign-in-copy/routes.ts', 'extensions/sign-in/routes.ts'],
    ['adapters/redis/index.ts', 'adapters/memory/index.ts'],
    ['adapters/redis/index.ts', 'lib/logger.ts'],
    ['adapters/redis/index.ts', 'tenant-idp'],
    ['examples/local/main.ts', 'lib/index.ts'],
    ['examples/local/main.ts', 'examples/koa-host/main.ts'],
    ['examples/local/main.ts', 'oidc-provider'],
  ])('%s ✗ %s', (file, entry) => {
    expect(problemsOf(file, entry)).toEqual([expect.stringMatching(`^${file} imports `)]);
  });

  test.each([
    ['lib/index.ts', 'lib/service/on-first-use.ts'],
    ['lib/service/on-first-use.ts', 'lib/service/create-identity-provider.ts'],
    ['lib/service/create-identity-provider.ts', 'extensions/index.ts'],
    ['lib/service/phases/stores.ts', 'adapters/memory/index.ts'],
    ['lib/oidc/protocol.ts', 'lib/oidc/configuration.ts'],
    ['lib/oidc/protocol.ts', 'oidc-provider'],
    ['lib/oidc/protocol.ts', 'type lib/options/options.ts'],
    ['lib/oidc/tokens/doors/plain-door.ts', 'lib/oidc/tokens/grants/refresh-token.ts'],
    ['lib/oidc/interactions/restart.ts', 'lib/oidc/artifacts/ids.ts'],
    ['lib/oidc/upstream/provider.ts', 'oidc-provider/lib/helpers/errors.js'],
    ['lib/directory/seed/seed.ts', 'type lib/directory/directory.ts'],
    ['lib/http/app.ts', '@koa/router'],
    ['extensions/sign-in/views/login.ts', 'extensions/sign-in/texts/en.ts'],
    ['extensions/sign-in/views/login.ts', 'lib/extension-door.ts'],
    ['adapters/conformance/index.ts', 'adapters/conformance/cases/races.ts'],
    ['examples/local/main.ts', 'tenant-idp/adapters/memory'],
    ['examples/local/main.ts', 'openid-client'],
  ])('nothing in %s → %s', (file, entry) => {
    expect(problemsOf(file, entry)).toEqual([]);
  });

  test('a file that is in no room', () => {
    expect(importProblems({ 'lib/services/mail.ts': [], 'lib/oidc/loose.ts': [], 'extensions/loose.ts': [] }, [])).toHaveLength(3);
  });

  test('cycles, through types as well, and prints them', () => {
    const graph = { a: ['b', 'koa'], b: ['type c'], c: ['d', 'b'], d: [], e: ['e'] };
    expect(cycles(graph)).toEqual(['b → c → b', 'e → e']);
    expect(cycles({ a: ['b', 'c'], b: ['d'], c: ['d'], d: [] })).toEqual([]);
  });

  test('drawers', () => {
    expect(drawerProblems(['lib/utils/a.ts', 'lib/http/helpers.ts', 'test/common.test.ts', 'lib/http/app.ts'])).toHaveLength(3);
  });

  test('work in a door', () => {
    expect(workInDoor(`export { a } from './a.js';\nexport type { B } from './b.js';`)).toEqual([]);
    expect(workInDoor(`export * from './a.js';`)).toHaveLength(1);
    expect(workInDoor(`import { a } from './a.js';\nexport const b = a();`)).toHaveLength(2);
  });

  test('imports in every form of the language', () => {
    const text = `
      import a, { type A } from './a.js';
      import type { B } from '../b.js';
      import { type C, type D } from './c.js';
      import './effect.js';
      export { e } from './e.js';
      export type * from './f.js';
      type G = import('./g.js').G;
      const h = await import('./h.js');
      const i = await import(\`./\${name}.js\`);
      import j = require('node:fs');
      declare module 'k' {}
    `;
    expect(importsOf('lib/http/x.ts', text)).toEqual([
      'lib/http/a.ts',
      'type lib/b.ts',
      'type lib/http/c.ts',
      'lib/http/effect.ts',
      'lib/http/e.ts',
      'type lib/http/f.ts',
      'type lib/http/g.ts',
      'lib/http/h.ts',
      '?',
      'node:fs',
      'type k',
    ]);
  });
});
