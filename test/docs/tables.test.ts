/** Tables of the documentation, compared with the code that they describe. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import ts from 'typescript';
import { rows } from '../../bench/requests/rows.js';
import { standardClaims } from '../../extensions/claims/index.js';
import { standardExtensions } from '../../extensions/index.js';
import { saml } from '../../extensions/saml/index.js';
import { createClaimResolver } from '../../lib/claims/resolver.js';
import { type AttemptLimitName, attemptLimitRules, attemptLimits } from '../../lib/contract/attempt-limits.js';
import { seedSchema } from '../../lib/directory/seed/schema.js';
import { errorTable } from '../../lib/errors.js';
import { eventNames } from '../../lib/events.js';
import * as extensionDoor from '../../lib/extension-door.js';
import { routes } from '../../lib/oidc/configuration.js';
import { defaults } from '../../lib/options/defaults.js';
import { featureStandings } from '../../lib/options/features.js';
import { collectionNames } from '../../lib/service/extension-data.js';
import { parse } from '../architecture/imports.js';
import { declaredOptions } from '../options/declared-options.js';
import { useIdp } from '../support/service/use-idp.js';
import { pageAt } from './pages.js';

const { declarations } = createClaimResolver(standardClaims({ initialsAsPicture: false, email: 'all' }), { logger: console });

const optionsPage = pageAt('docs/reference/options.md');
const clientsPage = pageAt('docs/reference/clients.md');
const seedPage = pageAt('docs/reference/seed.md');
const eventsPage = pageAt('docs/reference/events.md');
const errorsPage = pageAt('docs/reference/errors.md');
const specificationPage = pageAt('docs/reference/specification.md');
const functionsPage = pageAt('docs/reference/extension-functions.md');
const claimsPage = pageAt('docs/claims.md');
const storesPage = pageAt('docs/stores.md');
const architecture = pageAt('docs/architecture.md');

describe('the tables of the documentation', () => {
  const service = useIdp({ impersonation: { permission: 'orders.approve' } });

  test('claims are those that the standard plugins declare', () => {
    expect(claimsPage.table('Standard claims', 'Scope')).toEqual(
      declarations.map(({ scope, name, type, description }) => [scope, name, type, description]),
    );
  });

  test('claims of the protocol are those of discovery that no plugin declares', async () => {
    const discovery = await (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json();
    const declared = new Set(declarations.map(({ name }) => name));
    const { claims_supported } = discovery as { claims_supported: string[] };
    expect(claimsPage.table('Claims of the protocol', 'Claim').map(([name]) => name)).toEqual(
      claims_supported.filter((name) => !declared.has(name)),
    );
  });

  test('options, their values and their defaults are those that are declared', () => {
    const declared = declaredOptions.filter(({ isGroup }) => !isGroup);
    expect(optionsPage.table('Options', 'Option').map(([path, value, standard]) => [path, value, unmarked(standard)])).toEqual(
      sorted(declared.map(({ path, expected, default: text = '–' }) => [path, expected, unmarked(text)])),
    );
  });

  test('features that oidc-provider’s own handlers answer for are those of the code', () => {
    const handedOver = Object.entries(featureStandings).flatMap(([name, each]) =>
      each.standing === 'option' && each.handsOver ? [name] : [],
    );
    expect(architecture.table('One request', 'Feature').map(([name]) => name)).toEqual(handedOver);
  });

  test('limits of attempts are those of the table, with the defaults of their options', () => {
    const rules = attemptLimitRules(defaults.limits);
    const number = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, '_');
    const options = (...values: readonly (number | string)[]): string =>
      values.flatMap((value) => (typeof value === 'string' ? [`limits.${value}`] : [])).join(', ') || '–';
    expect(optionsPage.table('Limits of attempts', 'Attempts').map((cells) => cells.map(unmarked))).toEqual(
      Object.entries(attemptLimits).map(([name, row]) => {
        const rule = rules[name as AttemptLimitName];
        return [row.counts, number(rule.of), number(rule.in / 1000), options(row.of, row.in)];
      }),
    );
  });

  test('errors are those of the code, with their status and words', () => {
    expect(errorsPage.table('Errors', 'Code')).toEqual(
      sorted(Object.entries(errorTable).map(([code, { status, description }]) => [code, String(status), description])),
    );
  });

  test('fields of a client have these defaults', async () => {
    const { client } = await service.idp.directory.clients.create({
      id: 'plain',
      name: 'Plain',
      metadata: { token_endpoint_auth_method: 'none' },
    });
    const documented = clientsPage.table('Clients', 'Field of a client');
    expect(documented).toEqual(sorted(documented));
    const absent = {
      requirePkce: 'unset',
      fapi: 'unset',
      email: 'unset',
      allowedTenants: 'all',
      styles: 'none',
      postRegistrationUri: 'none',
      impersonation: '"allow"',
    };
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
    const words = {
      ...apiResource,
      scopes: '–',
      scopeDescriptions: 'none',
      allowedTenants: 'all',
      introspectionSignedResponseAlg: "'RS256'",
      impersonation: "'allow'",
    };
    const documented = clientsPage.table('API resources', 'Field of an API resource');
    expect(documented).toEqual(sorted(documented));
    expect(documented.length).toBeGreaterThan(3);
    expect(documented.map(([field, value]) => [field, value?.replaceAll("'", '')])).toEqual(
      documented.map(([field = '']) => [field, String(Reflect.get(words, field)).replaceAll("'", '')]),
    );
    const { scopeDescriptions, allowedTenants, introspectionSignedResponseAlg: alg, impersonation } = apiResource;
    expect([scopeDescriptions, allowedTenants, alg, impersonation]).toEqual([undefined, undefined, undefined, undefined]);
  });

  test('records of the seed have these members', () => {
    const { tenants, permissions, clients, apiResources } = seedSchema.properties;
    const tenant = tenants.items.properties;
    const person = tenant.persons.items.properties;
    const schemas = { tenant, subsidiary: tenant.subsidiaries.items.properties, group: tenant.groups.items.properties, person };
    const named = { ...schemas, user: person.user.properties, permission: permissions.items.properties };
    const documented = seedPage.table('The seed', 'Record of the seed');
    const withoutDetails = documented.map(([name, members = '']) => [name, members.replace(/\([^)]*\)/g, '').match(/`(\w+)`/g) ?? []]);
    const membersOfAll = Object.entries(named).map(([name, members]) => [
      name,
      Object.keys(members)
        .map((member) => `\`${member}\``)
        .sort(),
    ]);
    expect(withoutDetails.slice(0, -2).map(([name, members]) => [name, [...(members as string[])].sort()])).toEqual(membersOfAll);
    const fieldsOf = (section: string, column: string) => clientsPage.table(section, column).map(([field]) => field);
    const clientMembers = Object.keys(clients.items.properties).filter((member) => !['id', 'name', 'secret'].includes(member));
    expect(clientMembers).toEqual(expect.arrayContaining(fieldsOf('Clients', 'Field of a client')));
    expect(Object.keys(apiResources.items.properties)).toEqual(
      expect.arrayContaining(fieldsOf('API resources', 'Field of an API resource')),
    );
  });

  test('events are those of the code', () => {
    const data = membersOf('lib/events.ts', 'EventMap').map((member) => {
      const type = (member as ts.PropertySignature).type as ts.TypeLiteralNode;
      return [nameOf(member), ...type.members.map(nameOf)];
    });
    const documented = eventsPage.table('Event types', 'Event');
    expect(documented.map(([name, more = '']) => [name ?? '', 'AggregateId', ...(more.match(/\w+/g) ?? [])])).toEqual(sorted(data));
  });

  test('each event is raised by the mechanism, or declared by one extension of the service', () => {
    const declared = [...eventNames, ...standardExtensions().flatMap(({ events = [] }) => events)];
    expect(declared.toSorted()).toEqual(membersOf('lib/events.ts', 'EventMap').map(nameOf).toSorted());
  });

  test('collections of the directory are those that the service and its extensions declare', () => {
    const named = storesPage.table('What is kept where', 'Directory').flatMap(([, names = '']) => names.match(/[\w.-]+/g) ?? []);
    expect(named.toSorted()).toEqual(collectionNames([...standardExtensions(), saml()]).toSorted());
  });

  test('functions for extensions are those that the door exports', () => {
    const named = [...functionsPage.text.matchAll(/^\| (`[^|]+) \|/gm)].flatMap(([, cell = '']) => cell.match(/\w+/g) ?? []);
    expect(named.toSorted()).toEqual(Object.keys(extensionDoor).toSorted());
  });

  test('members of an extension, and of its context, are those of the contract', () => {
    const page = pageAt('docs/extensions.md');
    const added = page.table('What an extension may add', 'Member');
    expect(added.map(([name]) => name)).toEqual(membersOf('lib/contract/extension.ts', 'Extension').map(nameOf));
    const groups = membersOf('lib/contract/extension-context.ts', 'ExtensionContext').map(nameOf);
    expect(page.table('What an extension gets', 'Group').map(([name]) => name)).toEqual(groups);
    expect(groups.length).toBeLessThanOrEqual(12);
    for (const group of groups.filter((name) => name !== 'directory'))
      expect(
        page.table(`The group ${group}`, `Member of \`${group}\``).flatMap(([name = '']) => name.replaceAll('`', '').split(', ')),
      ).toEqual(membersOfGroup(group));
    const around = added.find(([name]) => name === 'around')?.[1] ?? '';
    expect([...around.matchAll(/`(\w+)`/g)].map(([, name]) => name)).toEqual(Object.keys(routes));
  });

  test('coverage has a row for each numbered section of the service specification', () => {
    const numbers = specificationPage.table('Spec coverage', 'Section').flatMap(([name = '']) => name.match(/^4\.\d+/) ?? []);
    expect(numbers).toEqual(Array.from({ length: 12 }, (_, index) => `4.${index + 1}`));
  });

  test('coverage says of a section that something works exactly when tests of the protocol are named after it', () => {
    const names = ['test/protocol', 'test/ciba']
      .flatMap((folder) => readdirSync(folder, { encoding: 'utf8', recursive: true }).map((file) => `${folder}/${file}`))
      .filter((file) => file.endsWith('.test.ts'))
      .flatMap((file) => [...readFileSync(file, 'utf8').matchAll(/\b(?:describe|test)\b[^'"`]*(['"`])(.*?)\1/g)])
      .map(([, , name = '']) => name);
    const rows = specificationPage.table('Spec coverage', 'Section').flatMap(([name = '', works = '']) => {
      const [number] = name.match(/^4\.\d+/) ?? [];
      return number === undefined ? [] : [{ number, works: works !== '' }];
    });
    const isTested = (number: string) => names.some((name) => name.split(/[^\d.]+/).includes(number));
    // Services that work in process are tested in other folders.
    const own = new Set(['4.12']);
    expect(rows.filter(({ number, works }) => !own.has(number) && works !== isTested(number))).toEqual([]);
    expect(names.length).toBeGreaterThan(300);
  });

  test('benchmarks have the rows that are measured', () => {
    expect(
      pageAt('docs/benchmarks.md')
        .table('Beside oidc-provider', 'Request')
        .map(([name]) => name),
    ).toEqual(rows.map(({ name }) => name));
  });
});

/** Sorts rows by their first cell. */
const sorted = (rows: readonly string[][]): string[][] => rows.toSorted(([one = ''], [other = '']) => one.localeCompare(other, 'en'));

/** Returns a cell without marks of code. */
const unmarked = (value = ''): string => value.replaceAll('`', '');

function membersOf(file: string, name: string): readonly ts.TypeElement[] {
  const found = parse(file, readFileSync(file, 'utf8')).statements.find(
    (statement): statement is ts.InterfaceDeclaration => ts.isInterfaceDeclaration(statement) && statement.name.text === name,
  );
  if (!found) throw new Error(`${file} declares no interface ${name}`);
  return [...found.members];
}

/** Returns the members of a group of an extension's context, inherited members first. */
function membersOfGroup(group: string): readonly string[] {
  const inherited = { claims: ['clients/account-claims', 'AccountClaims'], sessions: ['sign-in/sessions', 'Sessions'] }[group];
  const [file, name] = inherited ?? [];
  const pascal = group[0]?.toUpperCase() + group.slice(1);
  return [
    ...(inherited ? membersOf(`lib/contract/${file}.ts`, String(name)) : []),
    ...membersOf(`lib/contract/context/${group.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.ts`, `Extension${pascal}`),
  ].map(nameOf);
}

const nameOf = ({ name }: ts.TypeElement): string => (name as ts.Identifier).text;
