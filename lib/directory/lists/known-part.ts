/** Reduction of a value to the members that its schema names. A later release may have stored other members. */
import type { TSchema } from '@sinclair/typebox';

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
const propertiesOf = ({ properties = {} }: TSchema): Readonly<Record<string, TSchema>> => properties as Readonly<Record<string, TSchema>>;
const isStrict = ({ type, additionalProperties }: TSchema): boolean => type === 'object' && additionalProperties === false;

/**
 * Returns a value without members that its schema does not name, at any depth. Returns the same value if it has no such members.
 * @example
 * ```ts
 * import { knownPart, Type } from 'tenant-idp/extension';
 *
 * const Badge = Type.Object({ number: Type.String() }, { additionalProperties: false });
 * console.log(knownPart(Badge, { number: '7', colour: 'red' })); // { number: '7' }
 * ```
 */
export function knownPart(schema: TSchema, value: unknown): unknown {
  if (Array.isArray(value)) {
    if (schema.type !== 'array') return value;
    const items = value.map((item) => knownPart(schema.items as TSchema, item));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (schema.type !== 'object' || !isObject(value)) return value;
  const properties = propertiesOf(schema);
  const entries = Object.entries(value);
  const knownMembers = entries
    .filter(([name]) => !isStrict(schema) || Object.hasOwn(properties, name))
    .map(([name, member]) => [name, Object.hasOwn(properties, name) ? knownPart(properties[name] as TSchema, member) : member] as const);
  const isSame = knownMembers.length === entries.length && knownMembers.every(([name, member]) => member === value[name]);
  return isSame ? value : Object.fromEntries(knownMembers);
}

/** Returns the changed row with the unknown members of the stored row, if their object still exists. Unknown members in lists are lost. */
export function withUnknown(schema: TSchema, before: unknown, next: unknown): unknown {
  if (schema.type !== 'object' || !isObject(before) || !isObject(next)) return next;
  const properties = propertiesOf(schema);
  const unknownMembers = Object.entries(before).filter(
    ([name]) => isStrict(schema) && !Object.hasOwn(properties, name) && !Object.hasOwn(next, name),
  );
  const nested = Object.entries(properties)
    .filter(([name]) => Object.hasOwn(next, name))
    .map(([name, property]) => [name, withUnknown(property, before[name], next[name])] as const)
    .filter(([name, member]) => member !== next[name]);
  return unknownMembers.length + nested.length === 0 ? next : { ...next, ...Object.fromEntries([...unknownMembers, ...nested]) };
}
