/**
 * Requests: forms, JSON, parameters, methods, CSRF tokens and request ids.
 *
 * Reader of posted forms. `parameters` returns the parameters of a request. `json-guard` checks a body and an answer against a schema.
 */
import { parse } from 'node:querystring';
import type { Context, Middleware } from 'koa';
import { decodeForm } from '../../text/decode.js';
import { cleanText, type TextKind } from '../../text/kinds.js';
import { createBodyParser } from './body-parser.js';
import type { FormState } from './repeated-forms.js';

/** Maximum bytes of a form of the service. The OAuth endpoints accept the same size. */
const FORM_LIMIT = '56kb';

/** Middleware that only reads a posted form. */
export const readForm = createBodyParser({
  types: ['application/x-www-form-urlencoded'],
  limit: FORM_LIMIT,
  parse(body) {
    const text = decodeForm(body);
    if (text === undefined) throw undecodable(400, 'the form is not UTF-8 in percent-encoding');
    return { ...parse(text) };
  },
  onError(error) {
    const { status = 400, expose } = error as { readonly status?: number; readonly expose?: boolean };
    // Errors without `expose` are not written for clients, for example an error of a failed decompression. @see RFC 9110 §8.4
    throw expose === undefined ? undecodable(status, 'the body cannot be decoded') : error;
  },
});

/**
 * Reads a posted form of at most 56 kB, as middleware. `parametersOf` returns the parameters of the form. If the browser sends a form with a `csrf` token
 * twice within a minute, the form is evaluated once. The second request gets the answer to the first request, so no later step runs for the second request.
 * @throws Error with status 413 for a form that is too long, 400 for a form that cannot be decoded.
 * @example
 * ```ts
 * import { type Extension, form, parametersOf } from 'tenant-idp/extension';
 *
 * export const echo: Extension = {
 *   name: 'echo',
 *   routes(router) {
 *     router.postWithoutCsrf('/echo', form, (ctx) => {
 *       ctx.body = { said: parametersOf(ctx, ['word']).word ?? '' };
 *     });
 *   },
 * };
 * ```
 */
export const form: Middleware = (ctx, next) => {
  const { repeatedForms } = ctx.state as FormState;
  return readForm(ctx, () => (repeatedForms ? repeatedForms(ctx, next) : next()));
};

const undecodable = (status: number, message: string): Error => Object.assign(new Error(message), { status, expose: true });

/** Maximum characters of a field that users type: a name, a password, a reason. Tokens of the service are shorter. */
const LONGEST_FIELD = 1024;

/**
 * Returns a text field of a form that {@link form} read. The text is empty if the field is missing, repeated, or longer than `longest` characters, so that
 * code never parses a longer text.
 * @param longest maximum characters. Set `longest` for a field that holds more than a user types. @default 1024
 * @example
 * ```ts
 * import { type Extension, form, formField } from 'tenant-idp/extension';
 *
 * export const echo: Extension = {
 *   name: 'echo',
 *   routes(router) {
 *     router.postWithoutCsrf('/echo', form, (ctx) => {
 *       ctx.body = { said: formField(ctx, 'word').trim() };
 *     });
 *   },
 * };
 * ```
 */
export function formField(ctx: Context, name: string, longest = LONGEST_FIELD): string {
  const value = (ctx.request.body as Record<string, unknown> | undefined)?.[name];
  return typeof value === 'string' && value.length <= longest ? value : '';
}

/**
 * Returns the text that a user typed or pasted into a field, cleaned as `cleanText` does: without invisible characters, and without spaces at both ends.
 * Read passwords and hidden fields with {@link formField}, which changes nothing.
 * @example
 * ```ts
 * import { type Extension, form, typedField } from 'tenant-idp/extension';
 *
 * export const greeting: Extension = {
 *   name: 'greeting',
 *   routes(router) {
 *     router.postWithoutCsrf('/greeting', form, (ctx) => {
 *       ctx.body = { greeting: `Hello, ${typedField(ctx, 'givenName', 'personName')}` };
 *     });
 *   },
 * };
 * ```
 */
export const typedField = (ctx: Context, name: string, kind: TextKind): string => cleanText(kind, formField(ctx, name));
