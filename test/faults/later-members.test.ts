/**
 * M17: members that a later release adds to a row, in every collection of an extension and at any depth. The service ignores such members,
 * and a change of the row keeps them.
 */
import { describe, expect, test } from '@jest/globals';
import { Kind, type TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { standardExtensions } from '../../extensions/index.js';
import { saml } from '../../extensions/saml/index.js';
import { withUnknown } from '../../lib/directory/lists/known-part.js';
import { type KeptRow, shownOf, wrongPathOf, wrongWritten } from '../../lib/directory/tenants/extension-collections.js';

const collections = [...standardExtensions(), saml()].flatMap(({ collections: own = [] }) => own);
const LATER = 'ofALaterRelease';

/** Texts in the formats that rows require. */
const texts = ['x', '0000000000000001', 'https://x.test', 'https://x.test/', 'x@x.test', '#123456', 'en'];

/** Returns a value of a schema, with every member. */
function whole(schema: TSchema): unknown {
  if (schema.anyOf) return whole(schema.anyOf[0]);
  if (schema.type === 'object' && schema.properties)
    return Object.fromEntries(Object.entries<TSchema>(schema.properties).map(([name, inner]) => [name, whole(inner)]));
  if (schema.type === 'array') return [whole(schema.items)];
  if (schema[Kind] === 'Date') return new Date(5);
  if (schema[Kind] === 'String') return texts.find((text) => Value.Check(schema, text)) ?? 'x'.repeat(schema.minLength ?? 1);
  return Value.Create(schema);
}

/** Yields the value with one additional member in one of its objects, for each object in turn. */
function* later(schema: TSchema, value: unknown, path = ''): Generator<readonly [path: string, value: unknown]> {
  if (schema.type === 'array') {
    for (const [at, item] of later(schema.items, (value as unknown[])[0], `${path}/0`)) yield [at, [item]];
    return;
  }
  if (schema.type !== 'object' || !schema.properties) return;
  const members = value as Record<string, unknown>;
  yield [`${path}/${LATER}`, { ...members, [LATER]: { new: true } }];
  for (const [name, inner] of Object.entries<TSchema>(schema.properties))
    for (const [at, member] of later(inner, members[name], `${path}/${name}`)) yield [at, { ...members, [name]: member }];
}

// The rows follow from the schema alone, so members that have to fit each other (`wrongMember`) do not.
const bySchema = collections.map(
  ({ wrongMember: _, ...collection }) => [collection.name, collection as (typeof collections)[number]] as const,
);
describe.each(bySchema)('%s', (_, collection) => {
  const own = { id: 'id', version: 1, tid: 'tid', ...(collection.events && { pendingEvents: [] }) };
  const members = whole(collection.row) as Record<string, unknown>;
  const rows = [...later(collection.row, members)];

  test('a row with it is read without it', () => {
    expect(wrongPathOf(collection, { ...own, ...members })).toBeUndefined();
    expect(rows.length).toBeGreaterThan(0);
    for (const [path, row] of rows) {
      const stored = { ...own, ...(row as object) } as KeptRow;
      expect([path, wrongPathOf(collection, stored)]).toEqual([path, undefined]);
      const { id, version, tid, ...shown } = shownOf(collection, stored);
      // Only known members of a row are written. Other members of the stored row stay, except in lists.
      expect([path, wrongWritten(collection, shown)]).toEqual([path, undefined]);
      const text = JSON.stringify(withUnknown(collection.row, row, shown));
      if (!path.includes('/0/')) expect([path, text.includes(LATER)]).toEqual([path, true]);
    }
  });
});
