/**
 * Declaration of options: a table of checks, with defaults. The types of the options follow from the table, before and after the defaults are filled in.
 */
import { missing, unknownMembers } from '../config-problem.js';
import { both, type Check, record } from './checks.js';

/** Members of a group of options, by name. */
export type OptionTable = Readonly<Record<string, Check>>;

/** The check of an object that holds options. */
export interface Group<T, Table> extends Check<T> {
  readonly options: Table;
}

/** Declares the default of an option. A group with the default `{}` is always present, with the defaults of its options. */
export const withDefault = <C extends Check, const Default extends ValueOf<C>>(
  value: Default,
  check: C,
): C & { readonly default: Default } => Object.assign(check, { default: value });

/** Declares that an option is required, and the message if it is missing: `expected an absolute http(s) URL`. */
export const required = <C extends Check>(expected: string, check: C): C & { readonly required: string } =>
  Object.assign(check, { required: expected });

/** Checks an object that has only the options of a table. An `undefined` option is absent. `T` is the interface of the table. */
export function group<T, Table>(options: Table & { readonly [Name in keyof T]-?: Check<T[Name]> }): Group<T, Table> {
  const members = Object.entries(options as OptionTable);
  const names = members.map(([name]) => name);
  const check = both<T>(record<T & object>(`an object with some of ${names.join(', ')}`), (value, path) => [
    ...members.flatMap(([name, { required }]) =>
      required !== undefined && ownValue(value, name) === undefined ? [missing([...path, name], required)] : [],
    ),
    ...unknownMembers(value as object, path, names, 'an option that exists'),
    ...members.flatMap(([name, find]) => {
      const member = ownValue(value, name);
      return member === undefined ? [] : find(member, [...path, name]);
    }),
  ]);
  return Object.assign(check, { options });
}

/**
 * Returns the options of a table, frozen: the given values, and the defaults of all other options. A group without a default is present only if it was
 * given.
 */
export const completed = <Table>(table: Table, given: unknown = {}): Completed<Table> =>
  Object.freeze(
    Object.fromEntries(
      Object.entries(table as OptionTable).flatMap(([name, check]) => {
        const value = completedValue(check, ownValue(given, name) ?? check.default);
        return value === undefined ? [] : [[name, value]];
      }),
    ),
  ) as Completed<Table>;

function completedValue(check: Check, value: unknown): unknown {
  if (value !== undefined && isGroup(check)) return completed(check.options, value);
  return Array.isArray(value) ? Object.freeze([...(value as readonly unknown[])]) : value;
}

export const isGroup = (check: Check): check is Group<unknown, OptionTable> => 'options' in check;

const ownValue = (value: unknown, name: string): unknown =>
  Object.hasOwn(value as object, name) ? (Reflect.get(value as object, name) as unknown) : undefined;

type ValueOf<C> = C extends Check<infer T> ? T : never;
type Values<Table> = { readonly [Name in keyof Table]: ValueOf<Table[Name]> };
type NamesOf<Table, Kind> = { [Name in keyof Table]: Table[Name] extends Kind ? Name : never }[keyof Table];
type Required<Table> = NamesOf<Table, { readonly required: string }>;
type Present<Table> = NamesOf<Table, { readonly required: string } | { readonly default: unknown }>;

/** Required options of a table. `Pick` keeps the comment of each for editors. */
export type RequiredOptions<Table> = Pick<Values<Table>, Required<Table>>;

/** Optional options of a table. */
export type OptionalOptions<Table> = Partial<Pick<Values<Table>, Exclude<keyof Table, Required<Table>>>>;

type CompletedValues<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends Group<unknown, infer Inner> ? Completed<Inner> : ValueOf<Table[Name]>;
};

/** The options of a table, with their defaults filled in. */
export type Completed<Table> = Pick<CompletedValues<Table>, Present<Table>> &
  Partial<Pick<CompletedValues<Table>, Exclude<keyof Table, Present<Table>>>>;
