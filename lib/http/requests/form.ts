/**
 * Requests: forms, JSON, parameters, methods, CSRF tokens and request ids.
 *
 * Reader of posted forms. `parameters` returns the parameters of a request. `json-guard` checks a body and an answer against a schema.
 */
import { parse } from 'node:querystring';
import type { Context, Middleware } from 'koa';
import { decodeForm } from '../../text/decode.js';
import { LONGEST_ADDRESS } from '../../text/email-address.js';
import { cleanText, type TextKind } from '../../text/kinds.js';
import { ownMember } from '../../text/own-member.js';
import { isTooLongPassword, PASSWORD_LENGTH } from '../../text/passwords.js';
import { PERSON_NAME_LENGTH, USER_NAME_LENGTH } from '../../text/schemas.js';
import { createBodyParser } from './body-parser.js';
import type { FormState } from './repeated-forms.js';

/** Maximum kilobytes of a form of the service. The OAuth endpoints accept the same size. */
const FORM_KILOBYTES = 56;

/** Middleware that only reads a posted form. */
export const readForm = createBodyParser({
  types: ['application/x-www-form-urlencoded'],
  maxKilobytes: FORM_KILOBYTES,
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

/** A field that has more characters than its form accepts. */
export interface LongField {
  /** Name of the field in the form. */
  readonly name: string;
  /** Maximum characters of the field, as the page states them. */
  readonly longest: number;
}

/** Member of `ctx.state` that is set while the page of a refused form is shown. */
interface LongFieldState {
  longField?: LongField;
}

/** The form has a field that is too long. A form without a page answers with status 400. */
class FieldTooLong extends Error {
  readonly status = 400;
  readonly expose = true;

  constructor(readonly field: LongField) {
    super(`The field ${field.name} has more than ${field.longest} characters. Shorten it.`);
  }
}

/**
 * Evaluates a form. If a field is too long, shows the page of the form again, with status 400. {@link longFieldOf} returns the field to the page.
 * @param refill shows the page
 */
export async function takeOrRefill(ctx: Context, take: () => Promise<void>, refill: () => Promise<void>): Promise<void> {
  try {
    await take();
  } catch (error) {
    if (!(error instanceof FieldTooLong)) throw error;
    (ctx.state as LongFieldState).longField = error.field;
    await refill();
    if (ctx.status < 300 || ctx.status >= 400) ctx.status = 400;
  }
}

/**
 * Returns the field that is too long in a form that is shown again, and what the user typed into the fields. The look of the service calls this function.
 * @example
 * ```ts
 * import { type Context, longFieldOf } from 'tenant-idp/extension';
 *
 * export function hintOf(ctx: Context): string {
 *   const tooLong = longFieldOf(ctx);
 *   return tooLong === undefined ? '' : `${tooLong.name} may have ${tooLong.longest} characters.`;
 * }
 * ```
 */
export function longFieldOf(ctx: Context): (LongField & { readonly typed: (name: string) => string | undefined }) | undefined {
  const { longField } = ctx.state as LongFieldState;
  return longField && { ...longField, typed: (name) => textIn(ctx, name) };
}

/** Returns a text of the form; undefined for a field that is missing or repeated. */
function textIn(ctx: Context, name: string): string | undefined {
  const value = ownMember((ctx.request.body ?? {}) as Readonly<Record<string, unknown>>, name);
  return typeof value === 'string' ? value : undefined;
}

/** Reads a field. @param said maximum characters, as the page states them */
function readField(ctx: Context, name: string, longest: number, said = longest): string {
  const value = textIn(ctx, name) ?? '';
  if (value.length <= longest) return value;
  if ((ctx.state as LongFieldState).longField) return '';
  throw new FieldTooLong({ name, longest: said });
}

/** Returns the CSRF token of a form. A text that is too long is no token. */
export function tokenIn(ctx: Context): string {
  const value = textIn(ctx, 'csrf') ?? '';
  return value.length <= LONGEST_FIELD ? value : '';
}

/**
 * Returns a text field of a form that {@link form} read. The text is empty if the field is missing or repeated. Code never parses a text that is longer than
 * `longest` characters: the form of a page is then shown again, and the page states the maximum at the field.
 * @param longest maximum characters. Set `longest` for a field that holds more than a user types. @default 1024
 * @throws Error with status 400 for a longer text. Let the error pass.
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
  return readField(ctx, name, longest);
}

/** Maximum characters of a kind of text in a record. */
const longestOf: Partial<Readonly<Record<TextKind, number>>> = {
  personName: PERSON_NAME_LENGTH,
  userName: USER_NAME_LENGTH,
  address: LONGEST_ADDRESS,
};

/**
 * Returns the text that a user typed or pasted into a field, cleaned as `cleanText` does: without invisible characters, and without spaces at both ends.
 * Read passwords with {@link passwordField} and hidden fields with {@link formField}, which change nothing.
 * @param longest maximum characters before cleaning. @default 1024
 * @throws Error with status 400 for a longer text, as {@link formField} does.
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
export const typedField = (ctx: Context, name: string, kind: TextKind, longest = LONGEST_FIELD): string =>
  cleanText(kind, readField(ctx, name, longest, Math.min(longest, longestOf[kind] ?? longest)));

/**
 * Returns a password, new or current, unchanged. The text is empty if the field is missing or repeated.
 * @throws Error with status 400 for a text that is longer than every password of the service, as {@link formField} does.
 * @example
 * ```ts
 * import { type Extension, form, passwordField } from 'tenant-idp/extension';
 *
 * export const vault: Extension = {
 *   name: 'vault',
 *   routes(router) {
 *     router.postWithoutCsrf('/vault', form, (ctx) => {
 *       ctx.body = { isOpen: passwordField(ctx, 'password') === 'sesame' };
 *     });
 *   },
 * };
 * ```
 */
export function passwordField(ctx: Context, name: string): string {
  const password = readField(ctx, name, LONGEST_FIELD, PASSWORD_LENGTH);
  if (!isTooLongPassword(password)) return password;
  if ((ctx.state as LongFieldState).longField) return '';
  throw new FieldTooLong({ name, longest: PASSWORD_LENGTH });
}
