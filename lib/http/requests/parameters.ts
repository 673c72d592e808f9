import type { Context } from 'koa';
import { IdpError } from '../../errors.js';

type Values = Readonly<Record<string, unknown>>;

/** Returns the parameters of a form that was read before. */
export const formOf = (ctx: Context): Values => (ctx.request.body ?? {}) as Values;

/**
 * Returns parameters of the query and of a form that was read before. An empty parameter counts as absent.
 * @param places that may have the parameters. @default both
 * @throws IdpError `invalid_request` for a repeated parameter.
 * @see RFC 6749 §3.1
 * @example
 * ```ts
 * import { type Extension, parametersOf } from 'tenant-idp/extension';
 *
 * export const greeting: Extension = {
 *   name: 'greeting',
 *   routes(router) {
 *     router.get('/greeting', (ctx) => {
 *       const { name = 'stranger' } = parametersOf(ctx, ['name']);
 *       ctx.body = { greeting: `Hello, ${name}` };
 *     });
 *   },
 * };
 * ```
 */
export function parametersOf<Name extends string>(
  ctx: Context,
  names: readonly Name[],
  places: readonly Values[] = [ctx.query, formOf(ctx)],
): { readonly [name in Name]?: string | undefined } {
  const parameters: { [name in Name]?: string } = {};
  for (const name of names) {
    const given = places.map((values) => values[name]).filter((value) => value !== undefined && value !== '');
    if (given.length === 0) continue;
    const [value] = given;
    if (given.length > 1 || typeof value !== 'string') throw new IdpError('invalid_request');
    parameters[name] = value;
  }
  return parameters;
}
