/** Rows in which one part has another value. */

import type { Json } from '../client/agent.js';
import type { StoredRow } from './listed-world.js';

/** Names of members, and positions in lists, from the row inwards. */
export type Path = readonly string[];

/** A missing member, a value of another type, and a text that is too long. */
export const badValues: readonly unknown[] = [undefined, 42, 'x'.repeat(70_000)];

/** Returns the paths of all members at any depth, except the id, the version and the waiting events of the row. */
export const partsOf = (value: unknown, at: Path = []): readonly Path[] =>
  typeof value === 'object' && value !== null && !(value instanceof Date)
    ? Object.entries(value)
        .filter(([name]) => at.length > 0 || !['id', 'version', 'pendingEvents', 'outbox'].includes(name))
        .flatMap(([name, member]) => [[...at, name], ...partsOf(member, [...at, name])])
    : [];

export const partAt = (value: unknown, path: Path): unknown => path.reduce((inner, name) => (inner as Json)[name], value);

export const withPart = (value: Json, [name = '', ...rest]: Path, part: unknown): Json => {
  const next = rest.length === 0 ? part : withPart(value[name], rest, part);
  return Array.isArray(value) ? value.map((each, index) => (String(index) === name ? next : each)) : { ...value, [name]: next };
};

/** Returns the ids by which a list may name a row: the id of the row, and the id of a user within the row. */
export const idsOf = (row: StoredRow): readonly string[] => [row.id, String((row.user as StoredRow | undefined)?.id ?? row.id)];
