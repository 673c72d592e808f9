/** Schemas of answers, derived from the schemas of records, and views of records by these schemas. */
import { type TObject, type TProperties, type TSchema, TypeGuard } from '@sinclair/typebox';
import { instant, strict, Type } from '../../../../lib/extension-door.js';
import type { Fields } from './merge-patch.js';

/** Returns the schema of an object without other members. */
export const form = <Properties extends TProperties>(properties: Properties) => Type.Object(properties, strict);

/** Returns the schema without some members. */
export const without = (from: TObject, ...names: readonly string[]): TObject =>
  form(Object.fromEntries(Object.entries(from.properties).filter(([name]) => !names.includes(name))));

/**
 * Returns the schema of a record in answers: the members of its form, other members, and the instants of creation and update.
 * @param always members that have a default, so that every answer has them
 */
export const itemOf = (name: string, from: TObject, always: readonly string[] = [], others: TProperties = {}): TObject =>
  Type.Object(
    {
      ...Object.fromEntries(
        Object.entries(from.properties).map(([member, schema]) => [
          member,
          answered([...always, 'id'].includes(member) ? required(schema) : schema),
        ]),
      ),
      ...others,
      createdAt: instant(),
      updatedAt: instant(),
    },
    { ...strict, $id: name },
  );

const required = (schema: TSchema): TSchema => (TypeGuard.IsOptional(schema) ? Type.Optional(schema, false) : schema) as TSchema;

/**
 * Returns the schema of a member in answers. The schema accepts any text as an address, because a stored address may be older than the rule about
 * addresses.
 */
const answered = (schema: TSchema): TSchema =>
  schema.format !== 'idn-email' ? schema : TypeGuard.IsOptional(schema) ? Type.Optional(Type.String()) : Type.String();

/** Returns the members with schemas that limit neither texts nor lists, because stored values may be older than a limit. */
export const unbounded = <Members extends TProperties>(members: Members): Members =>
  Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, withoutBounds(schema)])) as Members;

function withoutBounds(schema: TSchema): TSchema {
  const inner = TypeGuard.IsString(schema)
    ? Type.String()
    : TypeGuard.IsArray(schema)
      ? Type.Array(withoutBounds(schema.items))
      : TypeGuard.IsObject(schema)
        ? form(unbounded(schema.properties))
        : schema;
  return TypeGuard.IsOptional(schema) ? Type.Optional(inner) : inner;
}

/** Returns the members of a record that the form has, with instants as text. */
export const viewOf =
  <Row>({ properties }: TObject) =>
  (row: Row): Fields =>
    Object.fromEntries(
      Object.keys(properties).flatMap((name) => {
        const value = (row as Fields)[name];
        return value === undefined ? [] : [[name, value instanceof Date ? value.toISOString() : value]];
      }),
    );

/** Returns the path with the values of its parameters. */
export const filled = (path: string, params: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
