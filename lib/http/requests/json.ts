import { hash } from 'node:crypto';
import type { Context } from 'koa';

/**
 * Answers JSON with a strong validator, and 304 to a client that has this version. `ctx.fresh` does not fit, because `ctx.fresh` is for caches. For
 * `Cache-Control: no-cache`, `ctx.fresh` answers in full, and `fetch` sends this header with every condition that the client sets.
 * @see RFC 9110 §8.8.3, §13.1.2
 * @example
 * ```ts
 * import { answerJson, type Extension } from 'tenant-idp/extension';
 *
 * export const tenants: Extension = {
 *   name: 'tenant-names',
 *   routes(router, { directory }) {
 *     router.get('/tenant-names', async (ctx) => {
 *       const all = await directory.tenants.find();
 *       answerJson(ctx, { names: all.map(({ name }) => name) });
 *     });
 *   },
 * };
 * ```
 */
export function answerJson(ctx: Context, body: object): void {
  const { text, etag } = body instanceof WrittenJson ? body : new WrittenJson(body);
  ctx.set('ETag', etag);
  if ((ctx.method === 'GET' || ctx.method === 'HEAD') && names(ctx.get('If-None-Match'), etag)) {
    ctx.status = 304;
    return;
  }
  ctx.set('Content-Type', 'application/json; charset=utf-8');
  ctx.body = text;
}

/**
 * Returns a body that is serialised and hashed once, for all answers with this body.
 * @example
 * ```ts
 * import { answerJson, type Extension, WrittenJson } from 'tenant-idp/extension';
 *
 * const names = new WrittenJson({ names: ['Acme', 'Globex'] });
 * export const constant: Extension = {
 *   name: 'constant-names',
 *   routes: (router) => void router.get('/constant-names', (ctx) => answerJson(ctx, names)),
 * };
 * ```
 */
export class WrittenJson {
  readonly text: string;
  readonly etag: string;

  constructor(body: object) {
    this.text = JSON.stringify(body);
    this.etag = tagOf(this.text);
  }
}

/**
 * Returns the validator that {@link answerJson} sends with a body, to compare with `If-Match`.
 * @example
 * ```ts
 * import { entityTagOf } from 'tenant-idp/extension';
 *
 * export const isCurrent = (ifMatch: string, record: object): boolean => ifMatch === entityTagOf(record);
 * ```
 */
export const entityTagOf = (body: object): string => tagOf(JSON.stringify(body));

const tagOf = (text: string): string => `"${hash('sha256', text, 'base64url')}"`;

const names = (condition: string, etag: string): boolean =>
  condition.trim() === '*' || condition.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
