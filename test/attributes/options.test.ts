/** Issue 46: the start refuses a schema of attributes that it could not enforce, and names the place. */
import { describe, expect, test } from '@jest/globals';
import { ConfigError, createIdentityProvider } from 'tenant-idp';
import { Type } from 'tenant-idp/extension';
import { silentLogger } from '../support/service/test-directory.js';
import { schema } from './schema.js';

async function problems(attributes: unknown, more: object = {}) {
  const options = { issuer: 'http://localhost:3000', logger: silentLogger, attributes, ...more };
  const error = await createIdentityProvider(options as never).then(
    (idp) => idp.close(),
    (thrown: unknown) => thrown,
  );
  if (error === undefined) return [];
  expect(error).toBeInstanceOf(ConfigError);
  return (error as ConfigError).problems;
}

const ofProperty = (property: unknown, more: object = {}) => ({ schema: { type: 'object', properties: { a: property }, ...more } });
const at = (place: string) => `attributes.schema.${place}`;
const cycle: Record<string, unknown> = { type: 'object' };
cycle.properties = { cycle };

type Refused = readonly [name: string, attributes: object, path: string, expected: string];
const ofPrototype = '{"schema":{"type":"object","properties":{"__proto__":{"type":"string"}}}}';
const manyProperties = (count: number) => ({
  type: 'object',
  properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, { type: 'string' }])),
});
const nested = (depth: number): object =>
  Array.from({ length: depth }).reduce<object>((inner) => ({ type: 'object', properties: { a: inner } }), { type: 'string' });

describe('attributes.schema', () => {
  test.each([
    ['the schema of the other tests', { schema }],
    ['a schema of typebox', { schema: Type.Object({ a: Type.Optional(Type.Union([Type.Literal('x'), Type.Literal('y')])) }) }],
    ['annotations', ofProperty({ type: 'string', title: 'A', default: 'x', examples: ['y'], deprecated: true, $comment: 'c' })],
    [
      'names of keywords as names of properties',
      ofProperty({ type: 'object', properties: { $ref: { type: 'string' }, format: { type: 'string' } } }),
    ],
    ['names of keywords in values', ofProperty({ const: { $ref: 'https://hr.example', format: 'x', unknown: 1 } })],
    [
      'references to schemas',
      ofProperty({ $ref: '#/$defs/a~1b%25/prefixItems/0' }, { $defs: { 'a/b%': { type: 'array', prefixItems: [true] } } }),
    ],
    ['a reference from a member to the whole', ofProperty({ anyOf: [{ $ref: '#' }, { type: 'string' }] })],
    ['1,000 schemas, and 99 levels', { schema: { ...manyProperties(949), additionalProperties: nested(49) } }],
    ['two types', ofProperty({ type: ['string', 'null'], maxLength: 3 })],
    [
      'conditions',
      { schema: JSON.parse('{"type":"object","if":{"required":["a"]},"then":{"required":["b"]},"properties":{"a":true,"b":true}}') },
    ],
  ])('may have %s', async (_, attributes) => {
    expect(await problems(attributes)).toEqual([]);
  });

  test.each([
    ['nothing', {}, 'attributes.schema', 'a JSON Schema of an object'],
    ['a text', { schema: 'object' }, 'attributes.schema', 'a JSON Schema of an object'],
    ['a boolean', { schema: true }, 'attributes.schema', 'a JSON Schema of an object'],
    ['a cycle', { schema: cycle }, 'attributes.schema', 'no cycles'],
    ['no type', { schema: { properties: {} } }, at('type'), "'object'"],
    ['another type', { schema: { type: 'array' } }, at('type'), "'object'"],
    ['another draft', { schema: { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' } }, at('$schema'), '2020-12'],
    ['an unknown keyword', ofProperty({ type: 'string', maxLenght: 3 }), at('properties.a.maxLenght'), 'a keyword'],
    ['a keyword of OpenAPI', ofProperty({ type: 'string', nullable: true }), at('properties.a.nullable'), 'a keyword'],
    ['a keyword of ajv', { schema: { type: 'object', $async: true } }, at('$async'), 'a keyword'],
    ['an unknown format', ofProperty({ type: 'string', format: 'hostname' }), at('properties.a.format'), 'one of date, '],
    ['a reference to the network', ofProperty({ $ref: 'https://hr.example/a.json' }), at('properties.a.$ref'), 'fetches no schema'],
    ['a reference to a name', ofProperty({ $ref: '#a' }), at('properties.a.$ref'), 'a JSON Pointer'],
    ...[
      ...['#/$defs/a', '#/__proto__', '#/constructor/prototype', '#/properties/toString', '#/title/length', '#/title', '#/properties'],
      ...['#/$defs', '#/$defs/b%', '#/'],
    ].map(
      (ref): Refused => [
        `a reference to no schema: ${ref}`,
        ofProperty({ $ref: ref }, { title: 'Attributes', $defs: { b: true } }),
        at('properties.a.$ref'),
        'a JSON Pointer to a schema within the schema',
      ],
    ),
    ['a property that names the prototype', JSON.parse(ofPrototype), at('properties.__proto__'), 'a name other than'],
    [
      'the name `constructor`',
      ofProperty({ type: 'object', properties: { constructor: {} } }),
      at('properties.a.properties.constructor'),
      'a name other than',
    ],
    ['too many schemas', { schema: manyProperties(1000) }, 'attributes.schema', 'at most 1000 schemas in the schema: it has 1001'],
    ['a schema of 101 levels', { schema: nested(50) }, 'attributes.schema', 'at most 100 levels'],
    ['a schema that is deeper than the stack', { schema: nested(20_000) }, 'attributes.schema', 'at most 100 levels'],
    ['an anchor', ofProperty({ $anchor: 'a', type: 'string' }), at('properties.a.$anchor'), 'nothing, because'],
    ['an id below the root', ofProperty({ $id: 'https://hr.example/a', type: 'string' }), at('properties.a.$id'), 'nothing, because'],
    ['a reference that never ends', { schema: { type: 'object', $ref: '#' } }, at('$ref'), 'does not lead back here'],
    [
      'references that never end in a member',
      ofProperty({ $ref: '#/$defs/b' }, { $defs: { b: { anyOf: [true, { not: { $ref: '#/$defs/b' } }] } } }),
      at('$defs.b.anyOf[1].not.$ref'),
      'does not lead back here',
    ],
    ['a wrong value of a keyword', ofProperty({ type: 'string', maxLength: '3' }), at('properties.a.maxLength'), 'a whole number'],
    ['a wrong type', ofProperty({ type: 'text' }), at('properties.a.type'), "one of 'string'"],
    ['a wrong pattern', ofProperty({ type: 'string', pattern: '(' }), 'attributes.schema', 'Invalid regular expression'],
    ['a keyword without its type', ofProperty({ maxLength: 3 }), 'attributes.schema', 'strict mode: missing type "string"'],
    [
      'an unknown keyword deep within',
      ofProperty({ anyOf: [{ type: 'array', items: { typ: 'x' } }] }),
      at('properties.a.anyOf[0].items.typ'),
      'a keyword',
    ],
  ] as readonly Refused[])('refuses %s', async (_, attributes, path, expected) => {
    expect(await problems(attributes)).toMatchObject([{ path, expected: expect.stringContaining(expected) }]);
  });

  test('names the keyword that was meant', async () => {
    expect(await problems(ofProperty({ type: 'string', maxLenght: 3 }))).toMatchObject([{ didYouMean: 'maxLength' }]);
  });

  test('is enforced in the seed, whose problems are all named before anything is written', async () => {
    const persons = [
      { givenName: 'A', attributes: { costCenter: 'C-1' } },
      { givenName: 'B' },
      { givenName: 'C', attributes: { costCenter: 'x' } },
    ];
    expect(await problems({ schema }, { seed: { tenants: [{ name: 'Acme', persons }] } })).toEqual([
      { path: 'seed.tenants[0].persons[1].attributes.costCenter', expected: 'a value, which is required' },
      { path: 'seed.tenants[0].persons[2].attributes.costCenter', expected: "a string that matches '^C-\\d+$'" },
    ]);
  });

  test('does not follow a change of the object after the start', async () => {
    const own = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false };
    const idp = await createIdentityProvider({ issuer: 'http://localhost:3000', logger: silentLogger, attributes: { schema: own } });
    Object.assign(own, { additionalProperties: true });
    const { id } = await idp.directory.tenants.create({ name: 'Acme' });
    const person = { givenName: 'A', attributes: { b: 1 } };
    await expect(idp.tenant(id).persons.create(person)).rejects.toMatchObject({ details: { path: '/attributes/b' } });
    await idp.close();
  });
});
