/** Members of a person or a user: forms, answers, the document, seeds and the check of stored rows follow from one declaration. */
import { describe, expect, test } from '@jest/globals';
import { type TObject, type TProperties, Type } from '@sinclair/typebox';
import { checkInput, patchSchema, problemsOf, withDefaults } from '../../lib/directory/input.js';
import { seedSchema } from '../../lib/directory/seed/schema.js';
import { personDefaults, personMembers, userDefaults, userMembers } from '../../lib/store/records/persons.js';
import { wrongPath } from '../../lib/store/records/row-checks.js';
import { checkOf, data, oneOf } from '../../lib/store/records/shape.js';
import { inputSchema, line } from '../../lib/text/schemas.js';
import { adminSeed, documented } from '../support/administration/admin.js';
import { useIdp } from '../support/service/use-idp.js';

const service = useIdp({ seed: adminSeed });
const persons = '/tenants/{tid}/persons';
const users = '/tenants/{tid}/users';
const seedPerson = seedSchema.properties.tenants.items.properties.persons.items;
const now = new Date();
const user = { id: 'id', userName: 'u', userNameKey: 'u', emailVerified: false, isParent: false, groupIds: [], status: 'active' };
const person = {
  ...{ id: 'id', version: 1, createdAt: now, updatedAt: now, tid: 'tid', pendingEvents: [] },
  ...personDefaults,
  user: { ...user, ...userDefaults, externalIdentityKeys: [] },
};

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}

async function members(path: string, method: string, of: 'body' | 'answer', within?: string): Promise<readonly string[]> {
  const { document, operations } = await documented(service.issuer);
  const found = operations.find((one) => one.path === path && one.method === method);
  const content =
    of === 'body' ? found?.operation.requestBody?.content : found?.operation.responses[method === 'POST' ? '201' : '200']?.content;
  const resolved = (schema: Schema): Schema =>
    schema.$ref === undefined
      ? schema
      : ((document.components as { schemas: Record<string, Schema> }).schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {});
  const schema = resolved((Object.values(content ?? {}) as { readonly schema: Schema }[])[0]?.schema ?? {});
  return Object.keys((within === undefined ? schema : resolved(schema.properties?.[within] ?? {})).properties ?? {});
}

describe('every member of a person', () => {
  const names = Object.keys(personMembers);

  test('is in the forms of creation and change, and in the answers, except the national id', async () => {
    expect(await members(persons, 'POST', 'body')).toEqual(expect.arrayContaining(names));
    expect(await members(`${persons}/{id}`, 'PATCH', 'body')).toEqual(names);
    const answered = names.filter((name) => name !== 'nationalId');
    for (const [path, method] of [
      [persons, 'POST'],
      [`${persons}/{id}`, 'GET'],
      [`${persons}/{id}`, 'PATCH'],
    ] as const) {
      expect(await members(path, method, 'answer')).toEqual(expect.arrayContaining(answered));
      expect(await members(path, method, 'answer')).not.toContain('nationalId');
    }
  });

  test('is in the form of seeds, where a subsidiary has its name', () => {
    expect(Object.keys(seedPerson.properties)).toEqual(expect.arrayContaining(names.filter((name) => name !== 'subsidiaryId')));
  });

  test.each(names)('%s is checked in stored rows', (name) => {
    expect(wrongPath('persons', person)).toBeUndefined();
    expect(wrongPath('persons', { ...person, [name]: 7 })).toBe(`/${name}`);
  });
});

describe('every member of a user', () => {
  const names = Object.keys(userMembers);

  test('is in the forms of creation and change, and in the answers', async () => {
    expect(await members(persons, 'POST', 'body', 'user')).toEqual(expect.arrayContaining(names));
    expect(await members(`${persons}/{id}/user`, 'POST', 'body')).toEqual(expect.arrayContaining(names));
    expect(await members(`${users}/{id}`, 'PATCH', 'body')).toEqual(names);
    expect(await members(`${users}/{id}`, 'GET', 'answer')).toEqual(expect.arrayContaining(names));
  });

  test('is in the form of seeds', () => {
    expect(Object.keys(seedPerson.properties.user.properties)).toEqual(expect.arrayContaining(names));
  });

  test.each(names)('%s is checked in stored rows', (name) => {
    expect(wrongPath('persons', { ...person, user: { ...person.user, [name]: 7 } })).toBe(`/user/${name}`);
  });
});

describe('a member that is added', () => {
  const later: TProperties = { ...personMembers, nickname: Type.Optional(line(40)) };
  const form = inputSchema(withDefaults(later, personDefaults));
  const patch = patchSchema(inputSchema(later));
  const check = checkOf(Type.Object(later));

  test('is taken by creation and change, with the kind of its text', () => {
    expect(problemsOf(form, { nickname: 'Ally' })).toEqual([]);
    expect(problemsOf(form, { nickname: 'A\u202elly' })).toMatchObject([{ path: '/nickname' }]);
    expect(problemsOf(form, { nickname: 'a'.repeat(41) })).toMatchObject([{ path: '/nickname' }]);
    expect(() => checkInput(patch, { nickname: null })).not.toThrow();
    expect(problemsOf(patch, { attributes: null })).toMatchObject([{ path: '/attributes' }]);
  });

  test('is checked in stored rows by its form alone, because a stored text may be older than a rule', () => {
    expect(check({ ...personDefaults, nickname: 'a'.repeat(41) })).toBeUndefined();
    expect(check({ ...personDefaults, nickname: 7 })).toBe('/nickname');
    expect(check({ ...personDefaults, nickname: 'a'.repeat(65_537) })).toBe('/nickname');
  });
});

describe('the check that follows from a schema', () => {
  const kinds: Readonly<
    Record<string, readonly [schema: TObject['properties'][string], sound: unknown, malformed: unknown, pointer: string]>
  > = {
    text: [Type.String({ maxLength: 1 }), 'long', 7, ''],
    flag: [Type.Boolean(), true, 'true', ''],
    count: [Type.Integer({ minimum: 5 }), 1, 0.5, ''],
    instant: [Type.Date(), now, new Date(Number.NaN), ''],
    'one of several texts': [oneOf('a', 'b'), 'b', 'c', ''],
    'the flag true': [Type.Literal(true), true, 'yes', ''],
    list: [Type.Array(Type.String()), ['a'], ['a', 1], '/1'],
    map: [Type.Record(Type.String(), Type.String()), { a: 'b' }, { 'a/b': 1 }, '/a~1b'],
    data: [data(), { a: [{ b: null }] }, [], ''],
    object: [Type.Object({ a: Type.Optional(Type.String()) }), { other: 1 }, { a: null }, '/a'],
    'a text or an object': [Type.Union([Type.String(), Type.Object({ a: Type.String() })]), { a: 'b' }, { a: 1 }, '/a'],
  };

  test.each(Object.entries(kinds))('%s', (_, [schema, sound, malformed, pointer]) => {
    const check = checkOf(schema);
    expect([check(sound), check(malformed), check(undefined)]).toEqual([undefined, pointer, '']);
    expect(checkOf(Type.Optional(schema))(undefined)).toBeUndefined();
  });

  test('is refused for a kind that nothing checks', () => {
    expect(() => checkOf(Type.Function([], Type.Null()))).toThrow('whose stored values nothing checks');
  });
});
