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
        Object.entries(from.properties).map(([member, schema]) => [member, [...always, 'id'].includes(member) ? required(schema) : schema]),
      ),
      ...others,
      createdAt: instant(),
      updatedAt: instant(),
    },
    { ...strict, $id: name },
  );

const required = (schema: TSchema): TSchema => (TypeGuard.IsOptional(schema) ? Type.Optional(schema, false) : schema) as TSchema;

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
