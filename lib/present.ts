/** Members of `T` that may be undefined. In the result, these members are optional, and absent instead of undefined. */
type Present<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/**
 * Returns the members that have a value. A member that is `undefined` is left out; `null`, `false`, `0` and `''` are values.
 * @example
 * ```ts
 * import { present } from 'tenant-idp/extension';
 *
 * export const names = (givenName: string, familyName?: string) => ({ givenName, ...present({ familyName }) });
 * ```
 */
export function present<const T extends object>(members: T): Present<T> {
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(members)) if (value !== undefined) result[name] = value;
  return result as Present<T>;
}
