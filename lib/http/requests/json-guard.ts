/** Routes that accept and return JSON with a declared schema. */
import type { Static, TSchema } from '@sinclair/typebox';
import type { Context, Middleware } from 'koa';
import { formatProblems } from '../../contract/schema-formats.js';
import { answerProblem, problemsOf } from '../../directory/input.js';
import { ConfigError, IdpError } from '../../errors.js';
import { decodeUtf8 } from '../../text/decode.js';
import { referenceToken } from '../../text/json-pointer.js';
import { createBodyParser } from './body-parser.js';

/** Schemas of the body and the answer of a route, in TypeBox. */
export interface JsonShape<In extends TSchema, Out extends TSchema> {
  /** Schema of the body. If absent, no body is read. */
  readonly body?: In;
  /** Schema of the answer. If absent, the answer is 204 without a body. */
  readonly answer?: Out;
  /** @default 200, or 204 without an answer */
  readonly status?: number;
}

/**
 * Returns a function that reads a JSON body: an object or a list.
 * @throws IdpError `unsupported_media_type`
 * @throws IdpError `invalid_request` for a body that is not JSON
 * @throws IdpError `invalid_record` for a member whose name changes prototypes
 * @throws Error with status 413 for a body over the maximum size.
 * @example
 * ```ts
 * import { createJsonReader, type Extension } from 'tenant-idp/extension';
 *
 * const read = createJsonReader(200);
 * export const echo: Extension = {
 *   name: 'echo',
 *   routes(router) {
 *     router.postWithoutCsrf('/echo', async (ctx) => {
 *       ctx.body = await read(ctx);
 *     });
 *   },
 * };
 * ```
 */
export function createJsonReader(maxKilobytes: number): (ctx: Context) => Promise<unknown> {
  const read = createBodyParser({
    types: jsonTypes,
    maxKilobytes,
    parse: parseJson,
    onError(error) {
      const { status } = error as { status?: number };
      throw status === 413 || error instanceof IdpError ? error : malformed('JSON in UTF-8');
    },
  });
  return async (ctx) => {
    if (!ctx.is(...jsonTypes)) throw new IdpError('unsupported_media_type');
    await read(ctx, async () => {});
    return ctx.request.body;
  };
}

const jsonTypes = ['json', 'application/merge-patch+json'];

const malformed = (expected: string): IdpError => new IdpError('invalid_request', { path: '', expected });

/**
 * Returns an object or a list. An empty body is an empty object. One byte order mark is skipped.
 * @throws IdpError
 * @see RFC 8259 §8.1
 */
function parseJson(body: Buffer): object {
  if (body.length === 0) return {};
  const text = decodeUtf8(body);
  if (text === undefined) throw malformed('JSON in UTF-8: the body has bytes that are not UTF-8');
  if (text.startsWith('\ufeff')) throw malformed('JSON in UTF-8 with one byte order mark (U+FEFF) at most');
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) throw malformed('a JSON object or list');
  const hostile = prototypeIn(value);
  if (hostile !== undefined) throw new IdpError('invalid_record', { path: hostile, expected: 'another name' });
  return value;
}

/**
 * Returns the path of a member that would change the prototype of an object into which code copies the member. The search does not recurse, because a body
 * may be nested deeper than the stack.
 */
function prototypeIn(value: object): string | undefined {
  const open: { readonly path: string; readonly value: object }[] = [{ path: '', value }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { path } = next;
    if (Object.hasOwn(next.value, '__proto__')) return `${path}/__proto__`;
    for (const [name, member] of Object.entries(next.value)) {
      if (typeof member !== 'object' || member === null) continue;
      const pointer = `${path}/${referenceToken(name)}`;
      if (name === 'constructor' && Object.hasOwn(member, 'prototype')) return pointer;
      open.push({ path: pointer, value: member });
    }
  }
  return undefined;
}

const read = createJsonReader(56);

/**
 * Creates middleware that checks the body before the route runs, and the answer before it is sent. An answer that does not match its schema
 * becomes 500, so that no undeclared member of a record leaves the service.
 * @throws IdpError `unsupported_media_type`
 * @throws IdpError `invalid_request` for a body that is not JSON
 * @throws IdpError `invalid_record` for a body that does not match its schema. `details.path` (a JSON pointer) and `details.expected` are of the
 * first problem. `details.problems` has the first twenty problems. The value is never in the details.
 * @throws Error with status 413 for more than 56 kB
 * @throws ConfigError `invalid_options`, immediately, for a schema with an unregistered format.
 * @example
 * ```ts
 * import { type Extension, json, Type } from 'tenant-idp/extension';
 *
 * const Sum = Type.Object({ sum: Type.Number() }, { additionalProperties: false });
 * const Terms = Type.Object({ terms: Type.Array(Type.Number(), { maxItems: 100 }) }, { additionalProperties: false });
 * export const sums: Extension = {
 *   name: 'sums',
 *   errors: 'problem',
 *   routes(router) {
 *     router.postWithoutCsrf(
 *       '/sums',
 *       json({ body: Terms, answer: Sum }, (_ctx, { terms }) => ({ sum: terms.reduce((sum, term) => sum + term, 0) })),
 *     );
 *   },
 * };
 * ```
 */
export function json<In extends TSchema, Out extends TSchema>(
  { body, answer, status = answer ? 200 : 204 }: JsonShape<In, Out>,
  handle: (ctx: Context, body: Static<In>) => Static<Out> | undefined | Promise<Static<Out> | undefined>,
): Middleware {
  const unknown = [...formatProblems(body, 'json.body'), ...formatProblems(answer, 'json.answer')];
  if (unknown.length > 0) throw new ConfigError('invalid_options', unknown);
  return async function answerJsonOfForm(context) {
    const ctx = context as Context;
    let given: unknown;
    if (body) {
      given = await read(ctx);
      const problems = problemsOf(body, given);
      if (problems.length > 0) throw new IdpError('invalid_record', { ...problems[0], problems });
    }
    const result: unknown = await handle(ctx, given as Static<In>);
    const error = answer && answerProblem(answer, result);
    if (error)
      throw new TypeError(
        `The answer of ${ctx.method} ${ctx.path} does not match its schema at ${error.path || '/'}. Return ${error.expected}.`,
      );
    ctx.status = status;
    if (!answer) return;
    ctx.set('Content-Type', 'application/json; charset=utf-8');
    ctx.body = JSON.stringify(result);
  };
}
