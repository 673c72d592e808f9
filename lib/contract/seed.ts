/** Records of an extension in the option `seed`. */
import type { Static, TSchema } from '@sinclair/typebox';
import type { SeedPiece } from '../directory/index.js';
import type { ExtensionContext } from './extension.js';

/** What stands under `seed.extensions.<name>`, and how it becomes records. */
export interface ExtensionSeed<Schema extends TSchema = TSchema> {
  readonly form: Schema;
  /**
   * The records, in the order that they are made in: before the tenants of the seed, whose policies may name them. The seed makes each once, and changes
   * what nobody else changed meanwhile.
   */
  pieces(seeded: Static<Schema>, context: ExtensionContext, names: SeedNames): readonly SeedPiece<{ readonly id: string }>[];
}

export interface SeedNames {
  /** The id of the tenant that the seed calls so; the name itself where it calls none so. */
  tenantId(name: string): string;
}

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
 *   pieces: (seeded, { collection }, { tenantId }) =>
 *     seeded.map(({ id, tenant, ...fields }) => {
 *       const rows = collection(rooms, tenantId(tenant));
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
