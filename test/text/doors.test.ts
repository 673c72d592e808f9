/** Every door by which a text comes in is sorted: the text has a kind or a pattern, or is on the list of texts that another rule judges. */
import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { standardExtensions } from '../../extensions/index.js';
import { saml } from '../../extensions/saml/index.js';
import { problemsOf } from '../../lib/directory/input.js';
import { findExtensionSeedProblems, findSeedFormProblems, seedSchema } from '../../lib/directory/seed/schema.js';
import {
  type AdminClient,
  adminClient,
  administer,
  adminScopes,
  adminSeed,
  adminToken,
  tenantIds,
} from '../support/administration/admin.js';
import type { Json } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';

const SAML = 'idp.saml-service-providers:write';
const scopes = [...adminScopes, SAML];
const service = useIdp({
  seed: {
    ...adminSeed,
    permissions: [...adminSeed.permissions, { id: SAML, name: 'SAML' }],
    clients: adminSeed.clients.map((client) => (client.id === 'root' ? adminClient('root', ['*'], scopes) : client)),
  },
  extensions: [saml()],
  subjectSalt: 'sixteen characters',
  limits: { adminRequestsPerMinute: 100_000 },
});
let root: AdminClient;
let tid: string;
let document: Json;
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root', scopes.join(' ')));
  tid = (await tenantIds(root)).Acme ?? '';
  document = (await root('/openapi.json')).json;
});

/** Members without a kind, by the reason. */
const others: Readonly<Record<string, readonly string[]>> = {
  'are compared with what is stored': [
    ...[
      'id',
      'subsidiaryId',
      'clientId',
      'userId',
      'personId',
      'operatorId',
      'groupId',
      'createUsersIn',
      'ids/0',
      'names/0',
      'deliveries/0',
    ],
    ...[
      'permissionIds/0',
      'permissions/0',
      'allowedTenants/0',
      'adminTenants/0',
      'groups/0',
      'allowedScopes/0',
      'tenant',
      'signIn/methods/0',
    ],
    ...['?name', '?email', '?userName', '?externalId', '?userId', '?personId', '?operatorId', '?groupId'],
  ],
  'are parsed as URLs, domains, certificates or XML': [
    ...['corsOrigins/0', 'postRegistrationUri', 'url', 'issuer', 'metadataUrl', 'domains/0', 'metadata'],
    ...['signingCertificates/0', 'encryptionCertificate'],
  ],
  'are compared with what a provider tells, byte by byte': ['claim', 'subjectClaim', 'value', 'amr/0', 'acr/0'],
  'are handed back as they came, or are secret': ['relayState', 'devPassword', '?after'],
};
const isOther = (path: string) => Object.values(others).some((names) => names.some((name) => path.endsWith(`/${name}`)));

const bad = ['\u202e', '\u200b', '\u0085', '\u2028', '\ufffd', '\u00ad', '\ufeff', '\u{e0041}', '\u3164'];
const beginnings = ['a', 'https://a.test/', '/a', '#'];
const isSorted = (schema: Json): boolean =>
  ['x-text', 'format', 'enum', 'const'].some((keyword) => schema[keyword] !== undefined) ||
  (schema.pattern !== undefined &&
    bad.every((character) => beginnings.every((beginning) => !new RegExp(schema.pattern).test(`${beginning}${character}b`))));

type TextAt = readonly [path: string, schema: Json];

function textsOf(schema: Json, path: string): readonly TextAt[] {
  if (typeof schema !== 'object' || schema === null) return [];
  if (schema.$ref) {
    const [, ...names]: readonly string[] = schema.$ref.split('/');
    return textsOf(
      names.reduce((found: Json, name) => found[name], document),
      path,
    );
  }
  return [
    ...(schema.type === 'string' ? [[path, schema] as const] : []),
    ...['anyOf', 'allOf', 'oneOf'].flatMap((word) => (schema[word] ?? []).flatMap((branch: Json) => textsOf(branch, path))),
    ...textsOf(schema.items, `${path}/0`),
    ...Object.entries<Json>(schema.properties ?? {}).flatMap(([name, member]) => textsOf(member, `${path}/${name}`)),
    ...Object.values<Json>(schema.patternProperties ?? {}).flatMap((member) => textsOf(member, `${path}/x`)),
  ];
}

const unsorted = (texts: readonly TextAt[]): readonly string[] =>
  texts.filter(([path, schema]) => !isSorted(schema) && !isOther(path)).map(([path]) => path);

/** Returns a value that has the text at the path and nothing else. */
const valueAt = (path: string, text: unknown): Json =>
  path
    .split('/')
    .slice(1)
    .reduceRight<Json>((inner, name) => (name === '0' ? [inner] : { [name]: inner }), text);

const operations = () =>
  Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
const bodyOf = ({ requestBody }: Json): Json => Object.values<Json>(requestBody?.content ?? {})[0]?.schema;

const kindsOf = (schema: Json): string | undefined => (schema.format === 'idn-email' ? 'address' : schema['x-text']);

describe('texts of operations', () => {
  test('are sorted', () => {
    const texts = operations().flatMap(({ method, path, operation }) => [
      ...textsOf(bodyOf(operation), `${method} ${path}`),
      ...(operation.parameters ?? [])
        .filter((one: Json) => one.in === 'query')
        .flatMap((one: Json) => textsOf(one.schema, `${method} ${path}/?${one.name}`)),
    ]);
    expect(texts.length).toBeGreaterThan(300);
    expect(unsorted(texts)).toEqual([]);
  });

  test('A03, A06, N04: that have a kind are refused with the character, its place and what to do', async () => {
    const doors = operations()
      .filter(({ method, path }) => method === 'POST' && !path.includes('/{id}'))
      .flatMap(({ path, operation }) =>
        textsOf(bodyOf(operation), '').flatMap(([at, schema]) => {
          const kind = kindsOf(schema);
          return kind === undefined || kind === 'opaque' ? [] : [{ path, at, kind }];
        }),
      );
    expect(new Set(doors.map(({ kind }) => kind))).toEqual(new Set(['personName', 'userName', 'address', 'line']));
    for (const { path, at, kind } of doors) {
      const { status, json } = await root.post(path.replace('{tid}', tid), valueAt(at, 'https://a\u202eb'));
      const expected =
        kind === 'address' ? expect.stringContaining('e-mail') : 'a text without U+202E: remove the character at position 10';
      expect([path, at, status, json.errors]).toEqual([path, at, 422, expect.arrayContaining([{ pointer: at, expected }])]);
    }
  });
});

describe('E-F: a change', () => {
  /** Returns the path of the operation that creates the record of a `PATCH`. */
  const creating = (path: string): string =>
    path === '/tenants/{tid}/users/{id}' ? '/tenants/{tid}/persons/{id}/user' : path.replace(/\/\{\w+\}$/, '');
  const changes = () =>
    operations()
      // No request creates a record that a tenant has once, such as its SAML entity.
      .filter(({ method, path }) => method === 'PATCH' && path.endsWith('}'))
      .map(({ path, operation }) => ({ path, made: creating(path), body: bodyOf(operation) }));
  const wrong = ['', 'https://a\u202eb', 'x'.repeat(5000), 5];

  test('has an operation of its own for each resource', () => {
    expect(changes().length).toBeGreaterThan(12);
    for (const { path, made } of changes()) expect([path, document.paths[made]?.post === undefined]).toEqual([path, false]);
  });

  test('of each text is refused with the path and the words of the operation that creates the record', async () => {
    const { json: person } = await root.post(`/tenants/${tid}/persons`, { givenName: 'Alice' });
    const at = (path: string) => path.replace('{tid}', tid).replace('{id}', person.id);
    const problemsAt = ({ json }: { readonly json: Json }, pointer: string): readonly object[] =>
      (json?.errors ?? []).filter((one: { readonly pointer: string }) => one.pointer === pointer);
    const compared = new Map<string, number>();
    for (const { path, made, body } of changes()) {
      const texts = new Set(textsOf(body, '').map(([text]) => text));
      const taken = new Set(textsOf(bodyOf(document.paths[made].post), '').map(([text]) => text));
      for (const text of texts)
        for (const value of taken.has(text) ? wrong : []) {
          const given = valueAt(text, value);
          const said = problemsAt(await root.post(at(made), given), text);
          if (said.length === 0) continue;
          const answer = await root.patch(at(path), given);
          // The form is checked first. Other rules compare a change with the record, and most of these paths name no record.
          if (answer.status === 404) continue;
          expect([path, text, value, problemsAt(answer, text)]).toEqual([path, text, value, said]);
          expect(JSON.stringify(said)).not.toContain('union');
          compared.set(path, (compared.get(path) ?? 0) + 1);
        }
    }
    for (const { path } of changes()) expect([path, (compared.get(path) ?? 0) > 2]).toEqual([path, true]);
  });
});

describe('texts of seeds', () => {
  /** The forms of extensions that have one in seeds, by name of the extension. */
  const forms = new Map(
    [...standardExtensions(), saml()].flatMap(({ name, seed }) => (seed === undefined ? [] : [[name, seed.form] as const])),
  );

  test('are sorted', () => {
    expect([...forms.keys()]).toEqual(['connections', 'saml']);
    expect(unsorted(textsOf(seedSchema, 'seed'))).toEqual([]);
    for (const [name, form] of forms) expect(unsorted(textsOf(form, `seed.extensions.${name}`))).toEqual([]);
  });

  const withKind = (schema: Json) => textsOf(schema, '').filter(([, text]) => !['opaque', undefined].includes(text['x-text']));
  const shown = (at: string): string => at.replace(/\/(\d+)/g, '[$1]').replaceAll('/', '.');
  const expected = 'a text without U+202E: remove the character at position 10';

  test('that have a kind are refused with the character, its place and what to do', () => {
    expect(withKind(seedSchema).length).toBeGreaterThan(20);
    for (const [at] of withKind(seedSchema))
      expect(findSeedFormProblems(valueAt(at, 'https://a\u202eb'))).toContainEqual({ path: `seed${shown(at)}`, expected });
    for (const [name, form] of forms) {
      expect(withKind(form).length).toBeGreaterThan(0);
      for (const [at] of withKind(form))
        expect(findExtensionSeedProblems({ extensions: { [name]: valueAt(at, 'https://a\u202eb') } }, forms)).toContainEqual({
          path: `seed.extensions.${name}${shown(at)}`,
          expected,
        });
    }
  });
});

/**
 * Fields of forms that nobody types: chosen from a list, or hidden. `identifier` is compared by {@link comparedUserNames}, which drops no
 * former name.
 */
const hidden = new Set([
  ...['idp', 'step', 'choice', 'subject', 'remove', 'removed', 'add', 'forget', 'oid', 'response', 'decision', 'stranger'],
  ...['unlink', 'parent', 'over', 'another', 'find', 'back', 'all', 'identifier', 'organisation'],
  ...['connect', 'end', 'others', 'seen', 'session'],
  // `cleanCode` reads these fields.
  ...['code', 'recovery', 'minutes'],
]);

test('fields of forms that people type into are read by their kind', () => {
  const files = readdirSync('extensions', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const read = files.flatMap((file) =>
    [...readFileSync(`extensions/${file}`, 'utf8').matchAll(/^(?! \*).*?\bformField\(ctx, '(\w+)'/gm)].map(
      ([, name = '']) => `${file} ${name}`,
    ),
  );
  expect(read.length).toBeGreaterThan(40);
  const names = read.map((one) => one.split(' ')[1] ?? '');
  expect(read.filter((_, at) => !hidden.has(names[at] ?? ''))).toEqual([]);
  expect([...hidden].filter((name) => !names.includes(name))).toEqual([]);
});

test('T3-IN-JSON: what JSON has no form for is refused from a host too', () => {
  const person = { attributes: { a: Number.POSITIVE_INFINITY, b: ['\ud800'] } };
  expect(problemsOf(textSchema, person)).toEqual([
    { path: '/attributes/a', expected: 'a number below 1.8e308' },
    { path: '/attributes/b/0', expected: 'a text without U+D800: remove the character at position 1' },
  ]);
});

const { Type } = await import('@sinclair/typebox');
const textSchema = Type.Object({ attributes: Type.Record(Type.String(), Type.Unknown()) });
