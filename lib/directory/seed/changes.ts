/**
 * Changes that a seed makes to an existing record. Three values are compared: the seed's value, the stored value, and the value that a seed
 * gave last. A stored value is replaced only if a seed gave it last. An element of a list of rights is given once. All other values stay.
 */
import { hash } from 'node:crypto';
import type { SeedRecord } from '../../store/records/records.js';

export type SeedNotes = Pick<SeedRecord, 'values' | 'items'>;
export type SeedFields = Readonly<Record<string, unknown>>;

export interface SeedChanges {
  readonly patch: Record<string, unknown>;
  readonly notes: SeedNotes;
  /** Fields with a new value in the seed that stay, because another actor changed them. */
  readonly left: readonly string[];
}

/** Lists of rights: each element grants something. */
const rights: ReadonlySet<string> = new Set(['allowedScopes', 'adminTenants', 'scopes', 'permissionIds', 'groupIds']);

/** A digest that no value has. The digest marks a value that no seed gave. */
export const NOT_OURS = '';

/** Returns notes about a record that was just created, or that stays as it was found. */
export function seededNotes(record: SeedFields, fields: SeedFields): SeedNotes {
  const values = valuesOf(fields).map(({ path, value }) => {
    const isOurs = digestOf(valueAt(record, path)) === digestOf(value);
    return { field: path.join('.'), digest: isOurs ? (digestOf(value) ?? NOT_OURS) : NOT_OURS };
  });
  const items = rightsOf(fields).flatMap(([field, list]) => list.map((item) => ({ field, item, isInSeed: true })));
  return { values, items };
}

/** @param defaults values that the service wrote for members that the seed did not give when it created the record. Default values count as the seed's. */
export function seedChanges(record: SeedFields, fields: SeedFields, before: SeedNotes, defaults: SeedFields = {}): SeedChanges {
  const patch: Record<string, unknown> = {};
  const values = new Map(before.values.map(({ field, digest }) => [field, digest]));
  const left: string[] = [];

  for (const { path, value } of valuesOf(fields)) {
    const field = path.join('.');
    const decision = decide({
      stored: digestOf(valueAt(record, path)),
      given: values.get(field) ?? digestOf(valueAt(defaults, path)),
      isEqual: isSame(valueAt(record, path), value),
    });
    const given = digestOf(value) ?? NOT_OURS;
    if (decision === 'set') set(patch, record, path, value);
    if (decision !== 'leave') values.set(field, given);
    else if (values.get(field) !== given) {
      left.push(field);
      values.set(field, values.get(field) ?? NOT_OURS);
    }
  }

  let { items } = before;
  for (const [field, list] of rightsOf(fields)) {
    const ofField = items.filter((one) => one.field === field);
    const stored = valueAt(record, [field]);
    const current = Array.isArray(stored) ? (stored as readonly string[]) : [];
    const dropped = new Set(ofField.filter(({ item, isInSeed }) => isInSeed && !list.includes(item)).map(({ item }) => item));
    const fresh = list.filter((item) => !ofField.some((one) => one.item === item));
    const next = [...new Set([...current.filter((item) => !dropped.has(item)), ...fresh])];
    if (!isSame(current, next)) patch[field] = next;
    items = [
      ...items.map((one) => (one.field === field && dropped.has(one.item) ? { ...one, isInSeed: false } : one)),
      ...fresh.map((item) => ({ field, item, isInSeed: true })),
    ];
  }
  return { patch, notes: { values: [...values].map(([field, digest]) => ({ field, digest })), items }, left };
}

/**
 * @param stored the digest of the stored value; undefined without a value.
 * @param given the digest of the value that a seed gave last; undefined if no seed gave one.
 */
export function decide({ stored, given, isEqual }: { stored: string | undefined; given: string | undefined; isEqual: boolean }) {
  if (isEqual) return 'keep';
  return stored === given ? 'set' : 'leave';
}

/** Returns a short digest, which only has to distinguish values. */
const digestOf = (value: unknown): string | undefined =>
  value === undefined ? undefined : hash('sha256', JSON.stringify(value), 'base64url').slice(0, 22);

const isSame = (a: unknown, b: unknown): boolean => digestOf(a) === digestOf(b);

const isGroup = (value: unknown): value is SeedFields => typeof value === 'object' && value !== null && !Array.isArray(value);

interface SeedValue {
  readonly path: readonly [string, string?];
  readonly value: unknown;
}

/** Returns the values to compare. Members of metadata, lifetimes, branding and other objects are compared one by one. */
const valuesOf = (fields: SeedFields): readonly SeedValue[] =>
  Object.entries(fields).flatMap(([name, value]): readonly SeedValue[] => {
    if (rights.has(name) || value === undefined) return [];
    if (!isGroup(value)) return [{ path: [name], value }];
    return Object.entries(value).map(([member, of]) => ({ path: [name, member], value: of }));
  });

const rightsOf = (fields: SeedFields): readonly (readonly [string, readonly string[]])[] =>
  Object.entries(fields).flatMap(([name, value]) => (rights.has(name) && Array.isArray(value) ? [[name, value] as const] : []));

function valueAt(record: SeedFields, [name, member]: readonly [string, string?]): unknown {
  const value = record[name];
  return member === undefined ? value : isGroup(value) ? value[member] : undefined;
}

function set(patch: Record<string, unknown>, record: SeedFields, [name, member]: readonly [string, string?], value: unknown): void {
  if (member === undefined) patch[name] = value;
  else patch[name] = { ...((patch[name] ?? record[name]) as object), [member]: value };
}
