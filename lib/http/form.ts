import type { Middleware } from 'koa';
import bodyParser from 'koa-bodyparser';

/** Bytes of a form of ours; the OAuth endpoints take as many. */
const FORM_LIMIT = '56kb';

const parse = bodyParser({ enableTypes: ['form'], formLimit: FORM_LIMIT });

/** Reads a posted form, or takes it from a host that read it first. */
export const form: Middleware = (ctx, next) => {
  const { body } = ctx.req as { body?: unknown };
  if (body !== undefined) (ctx.request as { body?: unknown }).body = body;
  return parse(ctx, next);
};
