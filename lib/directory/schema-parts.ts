/** Parts that schemas of records, answers and inputs share. */
import { type SchemaOptions, Type } from '@sinclair/typebox';

/**
 * Options of an object without other members than its schema has.
 * @example
 * ```ts
 * import { instant, oneOf, strict, Type } from 'tenant-idp/extension';
 *
 * export const Ticket = Type.Object({ state: oneOf(['open', 'closed']), openedAt: instant() }, strict);
 * ```
 */
export const strict = { additionalProperties: false } as const;

/**
 * Returns the schema of a text that is one of these values. The type of its value is the union of the texts.
 * @example
 * ```ts
 * import { oneOf } from 'tenant-idp/extension';
 *
 * export const state = oneOf(['open', 'closed'], { description: 'Whether the ticket is open' });
 * ```
 */
export const oneOf = <const Values extends readonly string[]>(values: Values, options: SchemaOptions = {}) =>
  Type.Union(
    values.map((value) => Type.Literal(value as Values[number])),
    options,
  );

/**
 * Returns the schema of an instant as text, such as `2026-01-31T12:00:00.000Z`.
 * @see RFC 3339 §5.6
 * @example
 * ```ts
 * import { instant } from 'tenant-idp/extension';
 *
 * export const openedAt = instant('When the ticket was opened');
 * ```
 */
export const instant = (description?: string) =>
  Type.String({ format: 'date-time', ...(description === undefined ? {} : { description }) });
