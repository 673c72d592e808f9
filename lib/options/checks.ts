/** Checks of option values, and functions that combine checks. */
import { isFunction, isObject, missing, type OptionPath, valueAt, withMeant, wrong } from '../config-problem.js';
import type { ConfigProblem } from '../errors.js';
import type { ValueCheck } from './values.js';

declare const right: unique symbol;

/** Finds all problems of the value at a path. `T` is the type of a valid value, for the compiler only. */
export interface Check<T = unknown> {
  (value: unknown, path: OptionPath): readonly ConfigProblem[];
  readonly [right]?: T;
  /** Value of an option that is not given. */
  readonly default?: unknown;
  /** Expected form of an option that is required. */
  readonly required?: string;
}

/** A check of a number, with its minimum and maximum. */
export interface RangeCheck extends Check<number> {
  readonly range: readonly [minimum: number, maximum: number];
}

/** @param isShown whether a message repeats the value, because it is short and not secret. */
const unless = <T>(holds: (value: unknown) => boolean, expected: string, isShown = false): Check<T> =>
  only((value) => (holds(value) ? undefined : expected), isShown);

export const only =
  <T>(check: ValueCheck, isShown = false): Check<T> =>
  (value, path) => {
    const expected = check(value);
    return expected === undefined ? [] : [wrong(path, expected, value, isShown)];
  };

/** Returns a check that runs the second check if the first finds nothing. */
export const both =
  <T>(first: Check<T>, second: Check): Check<T> =>
  (value, path) => {
    const problems = first(value, path);
    return problems.length > 0 ? problems : second(value, path);
  };

/** @param example the function as a developer would write it: `(mail) => …` */
export const callback = <F extends (...args: never) => unknown>(example: string): Check<F> => unless(isFunction, `a function: ${example}`);
export const flag = (): Check<boolean> => unless((value) => typeof value === 'boolean', 'true or false');
export const record = <T extends object>(expected: string): Check<T> => unless(isObject, expected);
export const text = (expected: string, minLength: number): Check<string> =>
  unless((value) => typeof value === 'string' && value.length >= minLength, expected, true);
export const wholeNumber = (unit: string, minimum: number, maximum: number): RangeCheck =>
  Object.assign(
    unless<number>(
      (value) => Number.isInteger(value) && Number(value) >= minimum && Number(value) <= maximum,
      `${unit} from ${minimum} to ${maximum}`,
      true,
    ),
    { range: [minimum, maximum] as const },
  );

export const oneOf = <const Choice extends string>(...choices: readonly Choice[]): Check<Choice> => {
  const expected = `one of ${choices.map((choice) => `'${choice}'`).join(', ')}`;
  return (value, path) => {
    if (choices.includes(value as Choice)) return [];
    const problem = wrong(path, expected, value, true);
    return [typeof value === 'string' ? withMeant(problem, value, choices) : problem];
  };
};

/** Checks an object for the members that the service reads (`name`) and calls (`send()`). Other members are not checked. */
export const withMembers = <T extends object>(expected: string, ...members: readonly string[]): Check<T> => {
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
  <T>(item: Check<T>, expected: string, { min = 0, isUnique = false } = {}): Check<readonly T[]> =>
  (value, path) => {
    if (!Array.isArray(value) || value.length < min || (isUnique && new Set(value).size < value.length))
      return [wrong(path, expected, value)];
    return value.flatMap((each, index) => item(each, [...path, index]));
  };

/** Checks an array of objects that each have a name. */
export const listOfNamed = <T extends object>(expected: string): Check<readonly T[]> =>
  list(both(record<T>("an object with a name, such as { name: 'hr' }"), named), expected);

const NAME = "a name, such as 'hr'";

const named: Check = (value, path) => {
  const name = valueAt(value, ['name']);
  const at = [...path, 'name'];
  return name === undefined ? [missing(at, NAME)] : text(NAME, 1)(name, at);
};

export const mapOf = <T>(item: Check<T>, expected: string): Check<Readonly<Record<string, T>>> =>
  both(record<Readonly<Record<string, T>>>(expected), (value, path) =>
    Object.entries(value as object).flatMap(([name, each]) => item(each, [...path, name])),
  );
