/** JSON Merge Patch: a member of the patch replaces the member of the record, `null` removes it, objects are merged. @see RFC 7396 */
import { type TObject, type TRecord, type TSchema, TypeGuard } from '@sinclair/typebox';
import { strict, Type } from '../../../../lib/extension-door.js';

/** Members of a record or of a body, by name. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * Returns the schema of a merge patch. A patch may remove every optional member of the form.
 * @param always optional members that a patch may not remove
 */
export function mergeForm(form: TObject, always: readonly string[] = []): TObject {
  const members = Object.entries(form.properties).map(([name, schema]): [string, TSchema] => {
    const inner = TypeGuard.IsObject(schema) ? mergeForm(schema) : TypeGuard.IsRecord(schema) ? mergeRecord(schema) : schema;
    return [name, Type.Optional(TypeGuard.IsOptional(schema) && !always.includes(name) ? Type.Union([inner, Type.Null()]) : inner)];
  });
  return Type.Object(Object.fromEntries(members), strict);
}

/** Returns the schema of a patch of a record with members of any name. A patch may remove each member. The patch of `X` has the id `XPatch`. */
const mergeRecord = ({ patternProperties, $id }: TRecord): TSchema =>
  Type.Record(
    Type.String(),
    Type.Union([...Object.values(patternProperties), Type.Null()]),
    $id === undefined ? {} : { $id: `${$id}Patch` },
  );

/** Returns the members of the record that a patch changes, as they are after the patch. */
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
