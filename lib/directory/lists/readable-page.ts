/** Pages of the admin API without the items that do not fit the schema of the answer. */
import type { TObject, TSchema } from '@sinclair/typebox';
import { answerProblem } from '../input.js';

/** An item that a page leaves out. */
export interface LeftOutItem {
  readonly id: string;
  /** A JSON Pointer to the malformed member. */
  readonly path: string;
}

/**
 * Returns a page that leaves out the items that do not fit the schema, and names them. Undefined for a value that is not a page, or is malformed elsewhere.
 * @example
 * ```ts
 * import { pageOf, readablePage, Type } from 'tenant-idp/extension';
 *
 * const names = pageOf(Type.Object({ id: Type.String(), name: Type.String() }));
 * console.log(readablePage(names, { items: [{ id: 'a', name: 5 }] })?.page); // { items: [], unreadable: [{ id: 'a', path: '/name' }] }
 * ```
 */
export function readablePage(
  schema: TSchema,
  answer: unknown,
): { readonly page: object; readonly leftOut: readonly LeftOutItem[] } | undefined {
  const { items: list, unreadable: names } = (schema as Partial<TObject>).properties ?? {};
  const given = (answer as { readonly items?: unknown } | null)?.items;
  if (list?.items === undefined || !Array.isArray(given)) return undefined;
  const items: unknown[] = [];
  const leftOut: LeftOutItem[] = [];
  for (const item of given) {
    const problem = answerProblem(list.items as TSchema, item);
    if (problem) leftOut.push({ id: String((item as { readonly id?: unknown } | null)?.id ?? ''), path: problem.path });
    else items.push(item);
  }
  const before = (answer as { readonly unreadable?: readonly LeftOutItem[] }).unreadable ?? [];
  const page = { ...(answer as object), items, ...(names && { unreadable: [...before, ...leftOut] }) };
  return answerProblem(schema, page) ? undefined : { page, leftOut };
}
