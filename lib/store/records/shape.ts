/**
 * Shapes of records. A record has one schema; its type (`Shape`) and the check of its stored rows (`checkOf`) follow from the schema. Forms of input pick
 * members of the schema.
 *
 * A check finds rows that an administrator, a restore or another program damaged. The check compares the form of each member. A text may be longer than
 * input allows, because a stored text may be older than a rule. Checks are plain functions, so nothing is compiled at start.
 */
import { isDate } from 'node:util/types';
import {
  Kind,
  KindGuard,
  type ObjectOptions,
  type OptionalKind,
  type Static,
  type TLiteralValue,
  type TProperties,
  type TSchema,
  Type,
} from '@sinclair/typebox';
import { referenceToken } from '../../text/json-pointer.js';

/** The type of a record with this schema. All members are read-only. */
export type Shape<Schema extends TSchema> = Schema extends {
  readonly [Kind]: 'Object';
  readonly properties: infer Members extends TProperties;
}
  ? ShapeOfMembers<Members>
  : Schema extends { readonly [Kind]: 'Array'; readonly items: infer Item extends TSchema }
    ? readonly Shape<Item>[]
    : Schema extends { readonly [Kind]: 'Record'; readonly patternProperties: Readonly<Record<string, infer Member extends TSchema>> }
      ? Readonly<Record<string, Shape<Member>>>
      : Static<Schema>;

interface MayBeAbsent {
  readonly [OptionalKind]: 'Optional';
}
type ShapeOfMembers<Members extends TProperties> = {
  readonly [Name in keyof Members as Members[Name] extends MayBeAbsent ? never : Name]: Shape<Members[Name]>;
} & {
  readonly [Name in keyof Members as Members[Name] extends MayBeAbsent ? Name : never]?: Shape<Members[Name]>;
};

/** Returns the schema of a part whose type has a name. */
export const typed = <T>(schema: TSchema) => Type.Unsafe<T>(schema);

/** Returns the schema of a text that is one of these values. */
export const oneOf = <const Values extends readonly string[]>(...values: Values) =>
  Type.Unsafe<Values[number]>(Type.Union(values.map((value) => Type.Literal(value))));

/** Returns the schema of members by any name, such as members for plugins. */
export const data = (options: ObjectOptions = {}) => Type.Record(Type.String(), Type.Unknown(), options);

/** Returns a JSON Pointer to the first malformed part of a value: empty for the value itself, undefined for a sound value. */
export type Check = (value: unknown) => string | undefined;

type Members = Readonly<Record<string, unknown>>;

/** @see RFC 6901 §3 */
const pointerTo = (name: string, within: string): string => `/${referenceToken(name)}${within}`.slice(0, 200);

/** Returns a pointer to the first malformed member. Each member has a separate check. */
export function firstWrongMember(checks: Readonly<Record<string, Check>>, value: Members): string | undefined {
  for (const name in checks) {
    const within = checks[name]?.(value[name]);
    if (within !== undefined) return pointerTo(name, within);
  }
  return undefined;
}

/** Returns a pointer to the first malformed part of a list or a map, whose parts have one check. */
function firstWrong(check: Check, parts: readonly unknown[] | Members): string | undefined {
  for (const [name, part] of Object.entries(parts)) {
    const within = check(part);
    if (within !== undefined) return pointerTo(name, within);
  }
  return undefined;
}

/** Maximum lengths of texts and lists, larger than any value that the services write. A larger row delays every reader. */
const TEXT_LENGTH = 65_536;
const LIST_LENGTH = 100_000;
/** Maximum characters and members in a value of plugins and metadata. */
const DATA_SIZE = 4_194_304;

const when =
  (holds: (value: unknown) => boolean): Check =>
  (value) =>
    holds(value) ? undefined : '';
const text = when((value) => typeof value === 'string' && value.length <= TEXT_LENGTH);
const flag = when((value) => typeof value === 'boolean');
/** A count of at most 2^52, so that further counts stay exact. */
const count = when((value) => Number.isSafeInteger(value) && Math.abs(value as number) <= 2 ** 52);
const instant = when((value) => isDate(value) && Number.isFinite(value.getTime()));
const anything: Check = () => undefined;
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined ? undefined : check(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.length <= LIST_LENGTH ? firstWrong(check, value) : '';
const isRecord = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isDate(value);
const record =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isRecord(value) ? firstWrongMember(checks, value) : '';
const mapOf =
  (check: Check): Check =>
  (value) =>
    isRecord(value) ? firstWrong(check, value) : '';
const anyMembers = when((value) => isRecord(value) && sizeLeft(value, DATA_SIZE) >= 0);

/** Returns what is left of the size after the value took its part. A result below zero means that the value is too large. */
function sizeLeft(value: unknown, left: number): number {
  if (typeof value === 'string') return left - value.length;
  if (typeof value !== 'object' || value === null) return left - 1;
  let rest = left - 1;
  for (const [name, member] of Object.entries(value)) {
    rest = sizeLeft(member, rest - name.length);
    if (rest < 0) return rest;
  }
  return rest;
}

const STORED = Symbol('check of the stored value');

/** Returns the schema with a check of the stored value that replaces the check which follows from the schema. */
export const checked = <Schema extends TSchema>(schema: Schema, holds: (value: unknown) => boolean): Schema =>
  Object.assign({ ...schema }, { [STORED]: when(holds) });

/** Returns the schema of members by any name, of which the named ones are lists of texts. */
export const dataWithTexts = (...names: readonly string[]) => {
  const lists = Object.fromEntries(names.map((name) => [name, optional(listOf(text))]));
  const check: Check = (value) => anyMembers(value) ?? firstWrongMember(lists, value as Members);
  return Object.assign(data(), { [STORED]: check }) as ReturnType<typeof data>;
};

/** Returns the check of stored values that follows from the schema. */
export function checkOf(schema: TSchema): Check {
  const check = (schema as { readonly [STORED]?: Check })[STORED] ?? formOf(schema);
  return KindGuard.IsOptional(schema) ? optional(check) : check;
}

/** Returns the checks of the members of a record. */
export const checksOf = (members: TProperties): Readonly<Record<string, Check>> =>
  Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, checkOf(schema)]));

function formOf(schema: TSchema): Check {
  if (KindGuard.IsObject(schema)) return record(checksOf(schema.properties));
  if (KindGuard.IsArray(schema)) return listOf(checkOf(schema.items));
  if (KindGuard.IsRecord(schema)) {
    const [member = Type.Unknown()] = Object.values(schema.patternProperties);
    return KindGuard.IsUnknown(member) ? anyMembers : mapOf(checkOf(member));
  }
  if (KindGuard.IsUnion(schema)) return alternatives(schema.anyOf);
  if (KindGuard.IsLiteral(schema)) return typeof schema.const === 'boolean' ? flag : among([schema.const]);
  if (KindGuard.IsBoolean(schema)) return flag;
  if (KindGuard.IsInteger(schema)) return count;
  if (KindGuard.IsDate(schema)) return instant;
  if (KindGuard.IsUnknown(schema)) return anything;
  if (schema.type === 'string') return text;
  throw new Error(
    `A record has a member of the kind ${schema[Kind]}, whose stored values nothing checks. Use another kind, or add a check.`,
  );
}

const among = (values: readonly TLiteralValue[]): Check => when((value) => values.includes(value as TLiteralValue));

/** Returns the check of a value that fits one of several schemas: literals, or a text and an object. */
function alternatives(schemas: readonly TSchema[]): Check {
  const literals = schemas.filter(KindGuard.IsLiteral).map((schema) => schema.const);
  if (literals.length === schemas.length) return among(literals);
  const checks = schemas.map(checkOf);
  return (value) => {
    const pointers = checks.map((check) => check(value));
    // An alternative that finds a malformed part inside the value is the alternative that the writer meant.
    return pointers.includes(undefined) ? undefined : (pointers.find((pointer) => pointer !== '') ?? '');
  };
}
