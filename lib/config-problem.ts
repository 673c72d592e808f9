/** Problems with the options. A problem has the path, the value (unless it may be secret), and the expected form. Checks of values use these functions. */
import type { ConfigProblem } from './errors.js';
import { nearestName } from './nearest-name.js';

/** A path in the options: property names and array positions. */
export type OptionPath = readonly (string | number)[];

/** Problems that only the composition root can find, because it alone knows all readers of an option. */
export interface FoundProblems {
  readonly invalid?: readonly ConfigProblem[];
  /** Parts that claim the same name. */
  readonly conflicts?: readonly ConfigProblem[];
}

/** Options whose whole content may be secret, including a secret in the wrong place. */
const secretOptions: readonly unknown[] = ['keys', 'cookies', 'subjectSalt', 'seed'];

/** Maximum characters of the host's own text that a message repeats. */
const MAX_SHOWN = 60;

/** Maximum characters of the names that a message lists. */
const MAX_NAMES = 160;

const shorten = (text: string): string => (text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text);

/** Returns the path as a developer would write it: `cookies.keys[0]`, `claimMapping["cost-center"]`. */
export function formatPath(path: OptionPath): string {
  const written = path.map((part) =>
    typeof part === 'number' ? `[${part}]` : /^[\w$]{1,60}$/.test(part) ? `.${part}` : `[${JSON.stringify(shorten(part))}]`,
  );
  return written.join('').replace(/^\./, '') || 'options';
}

/** Returns the value at `path`; undefined if a part of the path is missing. */
export const valueAt = (value: unknown, path: OptionPath): unknown =>
  path.reduce<unknown>((inner, name) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, name) : undefined), value);

/** Returns whether the value is an object and not a list. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isFunction = (value: unknown): boolean => typeof value === 'function';

/** Returns the problem of a value that is missing at `path`, or that the message does not repeat. */
export const missing = (path: OptionPath, expected: string): ConfigProblem => ({ path: formatPath(path), expected });

/** Returns the problem of a wrong value at `path`. The message repeats text only if the option is text that is not secret (`isText`). */
export const wrong = (path: OptionPath, expected: string, value: unknown, isText = false): ConfigProblem => ({
  path: formatPath(path),
  expected,
  received: describe(path, value, isText),
});

/** Returns members of an object that are not in `names`, each with the name that was probably meant, or with all names. */
export const unknownMembers = (value: object, path: OptionPath, names: readonly string[], expected: string): readonly ConfigProblem[] =>
  Object.keys(value).flatMap((name) => (names.includes(name) ? [] : [unknownName([...path, name], name, names, expected)]));

/** Returns the problem of a name that is not in `names`, with the name that was probably meant, or with all names. */
export function unknownName(path: OptionPath, name: string, names: readonly string[], expected: string): ConfigProblem {
  const problem = withMeant(missing(path, expected), name, names);
  if (problem.didYouMean !== undefined) return problem;
  const all = names.join(', ') || 'none exists';
  return { ...problem, expected: `${expected}: ${all.length > MAX_NAMES ? `${all.slice(0, all.lastIndexOf(', ', MAX_NAMES))} …` : all}` };
}

/** Returns the problem, with the entry of `names` that is nearest to `name`. */
export function withMeant(problem: ConfigProblem, name: string, names: readonly string[]): ConfigProblem {
  const didYouMean = nearestName(name, names);
  return didYouMean === undefined ? problem : { ...problem, didYouMean };
}

function describe(path: OptionPath, value: unknown, isText: boolean): string {
  if (value === undefined || value === null) return String(value);
  if (secretOptions.includes(path[0])) return '[redacted]';
  switch (typeof value) {
    case 'string':
      return isText ? JSON.stringify(shorten(withoutCredentials(value))) : 'a string';
    case 'object':
      if (Array.isArray(value)) return 'an array';
      return typeof Reflect.get(value, 'then') === 'function' ? 'a promise (is an await missing?)' : 'an object';
    case 'function':
      return 'a function';
    default:
      return String(value);
  }
}

/** Removes credentials from URLs: the part before the host, and the query. */
const withoutCredentials = (text: string): string => text.replace(/.*@/s, '[redacted]@').replace(/([?#]).+/s, '$1…');
