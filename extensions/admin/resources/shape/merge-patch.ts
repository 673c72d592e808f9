/** JSON Merge Patch: members that are there replace, `null` takes away, objects are merged. @see RFC 7396 */
import { type TObject, type TRecord, type TSchema, TypeGuard } from '@sinclair/typebox';
import { strict, Type } from '../../../../lib/extension-door.js';

/** Members of a record or of a body, by name. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * The form of a patch of what the form describes: whatever is optional there can be taken away.
 * @param always members that cannot.
 */
export function mergeForm(form: TObject, always: readonly string[] = []): TObject {
  const members = Object.entries(form.properties).map(([name, schema]): [string, TSchema] => {
    const inner = TypeGuard.IsObject(schema) ? mergeForm(schema) : TypeGuard.IsRecord(schema) ? mergeRecord(schema) : schema;
    return [name, Type.Optional(TypeGuard.IsOptional(schema) && !always.includes(name) ? Type.Union([inner, Type.Null()]) : inner)];
  });
  return Type.Object(Object.fromEntries(members), strict);
}

/** Of members by any name: each can be taken away. */
const mergeRecord = ({ patternProperties }: TRecord): TSchema =>
  Type.Record(Type.String(), Type.Union([...Object.values(patternProperties), Type.Null()]));

/** The members of the record that a patch changes, as they are after it. */
export const mergedMembers = (record: Fields, patch: Fields): Fields =>
  Object.fromEntries(Object.entries(patch).map(([name, value]) => [name, value === null ? null : merged(record[name], value)]));

function merged(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const members = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name);
    else members.set(name, merged(members.get(name), value));
  }
  return Object.fromEntries(members);
}

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);
