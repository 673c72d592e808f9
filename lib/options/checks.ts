/** Checks of values in the options, and how they are put together to one of the whole. */
import { isFunction, isObject, missing, type OptionPath, unknownMembers, valueAt, withMeant, wrong } from '../config-problem.js';
import type { ConfigProblem } from '../errors.js';
import type { ValueCheck } from './values.js';

/** Everything that is wrong with the value at a path. */
export type Check = (value: unknown, path: OptionPath) => readonly ConfigProblem[];

/** A check of a number, with the least and the most that it takes. */
export type RangeCheck = Check & { readonly range: readonly [minimum: number, maximum: number] };

/** A check of an object, with those of its members. */
export type ObjectCheck = Check & {
  readonly members: Readonly<Record<string, Check>>;
  /** What is expected of members that have to be there. */
  readonly required: Readonly<Record<string, string>>;
};

/** @param isShown whether a message repeats the value: it is short, and no secret where it belongs. */
const unless = (holds: (value: unknown) => boolean, expected: string, isShown = false): Check =>
  only((value) => (holds(value) ? undefined : expected), isShown);

export const only =
  (check: ValueCheck, isShown = false): Check =>
  (value, path) => {
    const expected = check(value);
    return expected === undefined ? [] : [wrong(path, expected, value, isShown)];
  };

/** The second is asked where the first finds nothing. */
export const both =
  (first: Check, second: Check): Check =>
  (value, path) => {
    const problems = first(value, path);
    return problems.length > 0 ? problems : second(value, path);
  };

/** @param example the function as one would write it: `(mail) => …` */
export const callback = (example: string): Check => unless(isFunction, `a function: ${example}`);
export const flag = (): Check => unless((value) => typeof value === 'boolean', 'true or false');
export const record = (expected: string): Check => unless(isObject, expected);
export const text = (expected: string, minLength: number): Check =>
  unless((value) => typeof value === 'string' && value.length >= minLength, expected, true);
export const wholeNumber = (unit: string, minimum: number, maximum: number): RangeCheck =>
  Object.assign(
    unless(
      (value) => Number.isInteger(value) && Number(value) >= minimum && Number(value) <= maximum,
      `${unit} from ${minimum} to ${maximum}`,
      true,
    ),
    { range: [minimum, maximum] as const },
  );

export const oneOf = (...choices: readonly string[]): Check => {
  const expected = `one of ${choices.map((choice) => `'${choice}'`).join(', ')}`;
  return (value, path) => {
    if (choices.includes(value as string)) return [];
    const problem = wrong(path, expected, value, true);
    return [typeof value === 'string' ? withMeant(problem, value, choices) : problem];
  };
};

/** Something that has what we use (`name`) and can do what we call (`send()`); whatever else it has is its own business. */
export const withMembers = (expected: string, ...members: readonly string[]): Check => {
  const has = (value: unknown, member: string) => {
    const found = valueAt(value, [member.replace('()', '')]);
    return member.endsWith('()') ? isFunction(found) : found !== undefined;
  };
  return both(
    record(`${expected} with ${members.join(', ')}`),
    only((value) => {
      const absent = members.filter((member) => !has(value, member));
      return absent.length === 0 ? undefined : `${expected} with ${absent.join(', ')}`;
    }),
  );
};

export const list =
  (item: Check, expected: string, { min = 0, isUnique = false } = {}): Check =>
  (value, path) => {
    if (!Array.isArray(value) || value.length < min || (isUnique && new Set(value).size < value.length))
      return [wrong(path, expected, value)];
    return value.flatMap((each, index) => item(each, [...path, index]));
  };

/** Of objects that each have a name. */
export const listOfNamed = (expected: string): Check =>
  list(both(record("an object with a name, such as { name: 'hr' }"), named), expected);

const NAME = "a name, such as 'hr'";

const named: Check = (value, path) => {
  const name = valueAt(value, ['name']);
  const at = [...path, 'name'];
  return name === undefined ? [missing(at, NAME)] : text(NAME, 1)(name, at);
};

export const mapOf = (item: Check, expected: string): Check =>
  both(record(expected), (value, path) => Object.entries(value as object).flatMap(([name, each]) => item(each, [...path, name])));

/** An object that knows exactly the members of `T`; an `undefined` one is absent. */
export function closed<T>(members: Record<keyof T & string, Check>, required: ObjectCheck['required'] = {}): ObjectCheck {
  const names = Object.keys(members);
  const given = (value: unknown, name: string): unknown => (Object.hasOwn(value as object, name) ? valueAt(value, [name]) : undefined);
  const check = both(record(`an object with some of ${names.join(', ')}`), (value, path) => [
    ...Object.entries(required).flatMap(([name, expected]) =>
      given(value, name) === undefined ? [missing([...path, name], expected)] : [],
    ),
    ...unknownMembers(value as object, path, names, 'an option that exists'),
    ...Object.entries<Check>(members).flatMap(([name, find]) => {
      const member = given(value, name);
      return member === undefined ? [] : find(member, [...path, name]);
    }),
  ]);
  return Object.assign(check, { members, required });
}
