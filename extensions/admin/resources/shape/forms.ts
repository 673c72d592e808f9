/** Forms of what is answered, derived from the forms of records, and records shown in them. */
import { type TObject, type TProperties, type TSchema, TypeGuard } from '@sinclair/typebox';
import { instant, strict, Type } from '../../../../lib/extension-door.js';
import type { Fields } from './merge-patch.js';

/** The form of an object without other members. */
export const form = <Properties extends TProperties>(properties: Properties) => Type.Object(properties, strict);

/** A form without some members. */
export const without = (from: TObject, ...names: readonly string[]): TObject =>
  form(Object.fromEntries(Object.entries(from.properties).filter(([name]) => !names.includes(name))));

/** What is answered of a record: the members of its form, where those that have a default are always there, others, and when it was written. */
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

/** The schema of an answered member. A stored address may be older than the rule about addresses. */
const answered = (schema: TSchema): TSchema =>
  schema.format !== 'idn-email' ? schema : TypeGuard.IsOptional(schema) ? Type.Optional(Type.String()) : Type.String();

/** The members with schemas that bound neither texts nor lists, because stored values may be older than a bound. */
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

/** The members of a record that the form has; instants as text. */
export const viewOf =
  <Row>({ properties }: TObject) =>
  (row: Row): Fields =>
    Object.fromEntries(
      Object.keys(properties).flatMap((name) => {
        const value = (row as Fields)[name];
        return value === undefined ? [] : [[name, value instanceof Date ? value.toISOString() : value]];
      }),
    );

/** The path with its parameters. */
export const filled = (path: string, params: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
