/** Types records of an extension in the option `seed`. */
import type { TSchema } from '@sinclair/typebox';
import type { ExtensionSeed } from './extension.js';

/**
 * Types a seed.
 * @example
 * ```ts
 * import { defineCollection, defineSeed, type Extension, Type } from 'tenant-idp/extension';
 *
 * const strict = { additionalProperties: false };
 * const rooms = defineCollection({ name: 'rooms.all', row: Type.Object({ name: Type.String() }, strict) });
 * const seed = defineSeed({
 *   form: Type.Array(Type.Object({ id: Type.String(), tenant: Type.String(), name: Type.String() }, strict)),
 *   pieces: (seeded, { records }, { tenantId }) =>
 *     seeded.map(({ id, tenant, ...fields }) => {
 *       const rows = records.collection(rooms, tenantId(tenant));
 *       return {
 *         collection: rooms.name as 'rooms.all',
 *         id,
 *         fields,
 *         find: () => rows.get(id),
 *         create: () => rows.insert(fields, { id }),
 *         update: (_, patch) => rows.update(id, (row) => ({ ...row, ...patch })),
 *       };
 *     }),
 * });
 * export const extension: Extension = { name: 'rooms', collections: [rooms], seed };
 * ```
 */
export const defineSeed = <Schema extends TSchema>(seed: ExtensionSeed<Schema>): ExtensionSeed => seed as unknown as ExtensionSeed;
