/** README.md says what is so: its tables against the code they are about, its links, and its code against the compiler. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import ts from 'typescript';
import { rows } from '../../bench/rows.js';
import { standardClaims } from '../../extensions/claims/index.js';
import { createClaimResolver } from '../../lib/claims/resolver.js';
import { errorTable } from '../../lib/errors.js';
import { parse } from '../architecture/imports.js';
import { declaredOptions } from '../options/declared-options.js';
import { useIdp } from '../support/use-idp.js';
import { anchors, links, section, table } from './readme.js';

const { declarations } = createClaimResolver(standardClaims({ initialsAsPicture: false }), { logger: console });

describe('issue 4 D12: the tables of the README', () => {
  const service = useIdp();

  test('claims are those that the standard plugins declare', () => {
    expect(table('Claims', 'Scope')).toEqual(declarations.map(({ scope, name, type, description }) => [scope, name, type, description]));
  });

  test('claims of the protocol are those of discovery that no plugin declares', async () => {
    const discovery = await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json();
    const declared = new Set(declarations.map(({ name }) => name));
    const { claims_supported } = discovery as { claims_supported: string[] };
    expect(table('Claims', 'Claim').map(([name]) => name)).toEqual(claims_supported.filter((name) => !declared.has(name)));
  });

  test('options and their defaults are those that are declared', () => {
    const declared = declaredOptions.filter(({ isGroup }) => !isGroup);
    expect(table('Options', 'Option').map(([path, value]) => [path, unmarked(value)])).toEqual(
      declared.map(({ path, default: value = '–' }) => [path, unmarked(value)]),
    );
  });

  test('errors are those of the code, with their status and words', () => {
    expect(table('Errors', 'Code')).toEqual(
      Object.entries(errorTable).map(([code, { status, description }]) => [code, String(status), description]),
    );
  });

  test('fields of a client have these defaults', async () => {
    const { client } = await service.idp.directory.clients.create({
      id: 'plain',
      name: 'Plain',
      metadata: { token_endpoint_auth_method: 'none' },
    });
    const documented = table('Clients and API resources', 'Field of a client');
    const absent = { requirePkce: 'unset', allowedTenants: 'all', styles: 'none' };
    const read = documented.map(([field = '', value = '']) => [field, value.replaceAll("'", '"')]);
    const kept = documented.map(([field = '']) => {
      const value = field === 'metadata' ? {} : Reflect.get(client, field);
      return [field, JSON.stringify(value) ?? Reflect.get(absent, field)];
    });
    expect(documented.length).toBeGreaterThan(10);
    expect(read).toEqual(kept);
  });

  test('fields of an API resource have these defaults', async () => {
    const { apiResource } = await service.idp.directory.apiResources.create({ id: 'plain-api', name: 'Plain', scopes: [] });
    const words = { ...apiResource, scopes: '–', allowedTenants: 'all', introspectionSignedResponseAlg: "'RS256'" };
    const documented = table('Clients and API resources', 'Field of an API resource');
    expect(documented.length).toBeGreaterThan(3);
    expect(documented.map(([field, value]) => [field, value?.replaceAll("'", '')])).toEqual(
      documented.map(([field = '']) => [field, String(Reflect.get(words, field)).replaceAll("'", '')]),
    );
    expect([apiResource.allowedTenants, apiResource.introspectionSignedResponseAlg]).toEqual([undefined, undefined]);
  });

  test('events are those of the code', () => {
    const [, names = ''] = section('Tenants, persons, users, linked accounts').match(/^Events: ([^.]*)\. Each /m) ?? [];
    const events = parse('lib/events.ts', readFileSync('lib/events.ts', 'utf8')).statements.find(
      (statement): statement is ts.InterfaceDeclaration => ts.isInterfaceDeclaration(statement) && statement.name.text === 'EventMap',
    );
    expect(names.replaceAll('`', '').split(/\s+/)).toEqual(events?.members.map(({ name }) => (name as ts.Identifier).text));
  });

  test('coverage has a row for each numbered section of the service specification', () => {
    const numbers = table('Spec coverage', 'Section').flatMap(([name = '']) => name.match(/^4\.\d+/) ?? []);
    expect(numbers).toEqual(Array.from({ length: 12 }, (_, index) => `4.${index + 1}`));
  });

  test('coverage says of a section that something works exactly when tests of the protocol are named after it', () => {
    const names = readdirSync('test/protocol')
      .filter((file) => file.endsWith('.test.ts'))
      .flatMap((file) => [...readFileSync(`test/protocol/${file}`, 'utf8').matchAll(/\b(?:describe|test)\b[^'"`]*(['"`])(.*?)\1/g)])
      .map(([, , name = '']) => name);
    const rows = table('Spec coverage', 'Section').flatMap(([name = '', works = '']) => {
      const [number] = name.match(/^4\.\d+/) ?? [];
      return number === undefined ? [] : [{ number, works: works !== '' }];
    });
    const isTested = (number: string) => names.some((name) => name.split(/[^\d.]+/).includes(number));
    // Services that work in process are tested where they are.
    const own = new Set(['4.12']);
    expect(rows.filter(({ number, works }) => !own.has(number) && works !== isTested(number))).toEqual([]);
    expect(names.length).toBeGreaterThan(300);
  });

  test('benchmarks have the rows that are measured', () => {
    expect(table('Benchmarks', 'Request').map(([name]) => name)).toEqual(rows.map(({ name }) => name));
  });

  test('accounts and clients are those of the demo', () => {
    const seed = readFileSync('examples/local/seed.ts', 'utf8');
    const named = [...table('Try it', 'Account'), ...table('Try it', 'Client')].flatMap(([name = '', secret = '']) => [name, secret]);
    expect(named.filter((name) => name !== '–' && !seed.includes(`'${name}'`))).toEqual([]);
    const secrets = [...seed.matchAll(/(?:userName|devPassword|secret): '([^']+)'/g)].map(([, value]) => value);
    expect(secrets.length).toBeGreaterThan(5);
    expect(secrets.filter((value) => !named.includes(value ?? ''))).toEqual([]);
  });
});

describe('issue 4 D12: the README', () => {
  test('maps every room of the house, and no other', () => {
    const lines = (section('Map of the house').match(/```text\n([\s\S]*?)```/)?.[1] ?? '').trimEnd().split('\n');
    const mapped: string[] = [];
    let room = '';
    for (const line of lines) {
      const [, indent = '', name = '', words = ''] = line.match(/^( *)(\S+) {2,}(\S.*)$/) ?? [];
      expect(words).not.toBe('');
      if (indent === '') room = name;
      mapped.push(indent === '' ? name : room + name);
    }
    expect(mapped).toEqual(rooms());
  });

  test('points at headings and files that exist', () => {
    const broken = links.filter((link) => !/^https?:/.test(link) && !(link.startsWith('#') ? anchors.includes(link) : existsSync(link)));
    expect(links.length).toBeGreaterThan(20);
    expect(broken).toEqual([]);
  });
});

/** `'/idp'` and `` `a` `` as one would read them. */
const unmarked = (value = ''): string => value.replaceAll('`', '');

/** The top-level folders with what is in them: their folders, and of lib the files too; folders first, by name. */
function rooms(): string[] {
  const entries = (folder: string) => readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !name.startsWith('.'));
  const folders = (folder: string) => entries(folder).flatMap((entry) => (entry.isDirectory() ? `${entry.name}/` : []));
  const made = ['dist/', 'node_modules/'];
  return folders('.')
    .filter((folder) => !made.includes(folder))
    .sort()
    .flatMap((folder) => [
      folder,
      ...(folder === 'test/' ? [] : folders(folder).sort()).map((name) => folder + name),
      ...(folder === 'lib/'
        ? entries(folder)
            .flatMap((entry) => (entry.isFile() ? folder + entry.name : []))
            .sort()
        : []),
    ]);
}
