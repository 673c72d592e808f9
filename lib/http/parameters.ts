import type { Context } from 'koa';
import { IdpError } from '../errors.js';

/**
 * Parameters of the query and of a form that was read before; an empty one counts as left out.
 * @throws IdpError `invalid_request` for one that is there more than once.
 * @see RFC 6749 §3.1
 */
export function parametersOf<Name extends string>(ctx: Context, names: readonly Name[]): { readonly [name in Name]?: string | undefined } {
  const form = (ctx.request.body ?? {}) as Readonly<Record<string, unknown>>;
  const parameters: { [name in Name]?: string } = {};
  for (const name of names) {
    const given = [ctx.query[name], form[name]].filter((value) => value !== undefined);
    if (given.length === 0) continue;
    const [value] = given;
    if (given.length > 1 || typeof value !== 'string') throw new IdpError('invalid_request');
    if (value !== '') parameters[name] = value;
  }
  return parameters;
}
