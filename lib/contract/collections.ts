/** Durable rows that an extension declares. */
import type { TObject } from '@sinclair/typebox';
import { formatPath, isFunction, isObject, type OptionPath, unknownMembers, wrong } from '../config-problem.js';
import type { ExtensionCollection } from '../directory/index.js';
import type { ConfigProblem } from '../errors.js';
import type { Order } from '../store/directory-store.js';
import { formatProblems } from './schema-formats.js';

/**
 * Types a collection. The service checks at its start what a compiler cannot see.
 * @example
 * ```ts
 * import { defineCollection, type Extension, Type } from 'tenant-idp/extension';
 *
 * const badges = defineCollection({
 *   name: 'badges.issued',
 *   row: Type.Object({ personId: Type.String(), number: Type.String() }, { additionalProperties: false }),
 *   indexes: { byPerson: { fields: ['personId'] }, byNumber: { fields: ['number'], unique: true } },
 *   async erase(rows, { personId }) {
 *     for (const { id } of await rows.find('byPerson', [personId])) await rows.remove(id);
 *   },
 *   export: (rows, { personId }) => rows.find('byPerson', [personId]),
 * });
 * export const extension: Extension = {
 *   name: 'badges',
 *   collections: [badges],
 *   routes(router, { records }) {
 *     router.get('/badges/:tid/:number', async (ctx) => {
 *       const [badge] = await records.collection(badges, String(ctx.params.tid)).find('byNumber', [String(ctx.params.number)]);
 *       ctx.body = { issued: badge !== undefined };
 *     });
 *   },
 * };
 * ```
 */
export const defineCollection = <Schema extends TObject>(collection: ExtensionCollection<Schema>): ExtensionCollection<Schema> =>
  collection;

const members = ['name', 'row', 'wrongMember', 'indexes', 'cached', 'events', 'erase', 'userRemoved', 'export', 'tenantRemoved'];
const ownMembers = ['id', 'version', 'tid', 'pendingEvents', 'outbox'];
const orders: readonly Order[] = ['text', 'instant', 'number'];
const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** Returns the problems of a collection of an extension. */
export function findCollectionProblems(value: unknown, extension: unknown, path: OptionPath): readonly ConfigProblem[] {
  const collection = value as Partial<ExtensionCollection> | null;
  if (typeof collection !== 'object' || collection === null) return [wrong(path, 'a collection, made by defineCollection', value)];
  const {
    name,
    row,
    indexes = {},
    cached = false,
    events = false,
    wrongMember,
    erase,
    userRemoved,
    export: told,
    tenantRemoved,
  } = collection;
  const problems = [...unknownMembers(collection, path, members, 'a member of collections that exists')];
  const expect = (holds: boolean, member: string, expected: string, found: unknown): void => {
    if (!holds) problems.push(wrong([...path, member], expected, found, true));
  };
  expect(isOwnName(name, extension), 'name', OWN_NAME, name);
  expect(typeof cached === 'boolean', 'cached', 'true or false', cached);
  expect(typeof events === 'boolean', 'events', 'true or false', events);
  const fields = row?.type === 'object' ? Object.keys(row.properties ?? {}) : undefined;
  expect(fields !== undefined, 'row', 'Type.Object of the members of a row: Type.Object({ personId: Type.String() })', row);
  expect(
    !fields?.some((field) => ownMembers.includes(field)),
    'row',
    `other names than those of the service: ${ownMembers.join(', ')}`,
    row,
  );
  problems.push(...formatProblems(row, formatPath([...path, 'row'])));
  expect(isObject(indexes), 'indexes', "an object of indexes: { byPerson: { fields: ['personId'] } }", indexes);
  for (const [index, spec] of Object.entries(isObject(indexes) ? indexes : {})) {
    const isSpec = Array.isArray(spec?.fields) && spec.fields.length > 0 && spec.fields.every(isText);
    const { order, ofAllTenants = false } = spec ?? {};
    expect(typeof ofAllTenants === 'boolean', `indexes.${index}.ofAllTenants`, 'true or false', ofAllTenants);
    expect(order === undefined || orders.includes(order), `indexes.${index}.order`, `one of ${orders.join(', ')}`, order);
    expect(
      isSpec && !['byTenant', 'byOutbox'].includes(index),
      `indexes.${index}`,
      "fields, and a name other than byTenant and byOutbox: { byPerson: { fields: ['personId'] } }",
      spec,
    );
    if (isSpec && fields)
      expect(
        spec.fields.every((field) => fields.includes(field.split('.')[0] ?? '')),
        `indexes.${index}`,
        `fields of the row: some of ${fields.join(', ')}`,
        spec,
      );
  }
  for (const [member, hook] of Object.entries({ wrongMember, erase, userRemoved, export: told, tenantRemoved }))
    expect(hook === undefined || isFunction(hook), member, 'a function: (rows, owner) => …', hook);
  return problems;
}

/** Expected form of an extension's own names (`isOwnName`). */
export const OWN_NAME =
  "the extension's name, a dot, and a name of lower-case letters, digits and hyphens, such as 'shop.orders' of the extension shop";

/** Checks a name such as `notes.entries` of the extension `notes`. Names that begin with `system.` are reserved for stores. */
export const isOwnName = (name: unknown, extension: unknown): boolean =>
  isText(name) &&
  isText(extension) &&
  extension !== 'system' &&
  name.startsWith(`${extension}.`) &&
  /^[a-z0-9-]+\.[a-z0-9-]{1,40}$/.test(name);
