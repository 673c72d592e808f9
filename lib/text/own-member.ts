/**
 * Returns the member of a record that a name from outside selects; undefined if there is no such member. Members that all objects inherit, such as
 * `constructor`, do not count. Use this function wherever the name comes from outside: from a form, a query, a claim or a setting.
 * @example
 * ```ts
 * import { formField, ownMember } from 'tenant-idp/extension';
 * import type { Context } from 'koa';
 *
 * const prices = { small: 10, large: 20 };
 * export const priceOf = (ctx: Context): number | undefined => ownMember(prices, formField(ctx, 'size'));
 * ```
 */
export const ownMember = <Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined;
