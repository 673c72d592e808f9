/**
 * Readers for the common forms of requests: a form of a client with a secret, with an assertion or without credentials, and a GET with a bearer token. The
 * readers return undefined for all other requests.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { parse } from 'node:querystring';
import { basicCredentials } from '../../../http/clients/basic-credentials.js';
import { decodeForm } from '../../../text/decode.js';
import { assertedClientId } from '../../clients/assertions.js';

/** The members of a Koa context that the door reads. The door also answers requests for which there is no context. */
export interface PlainContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly state: Record<PropertyKey, unknown>;
  readonly querystring: string;
  accepts(...types: string[]): string | string[] | false;
}

/** Headers of other kinds of authentication. */
const unusualHeaders = ['dpop', 'oauth-client-attestation', 'oauth-client-attestation-pop'] as const;

const hasPlainHeaders = (ctx: PlainContext): boolean =>
  unusualHeaders.every((name) => ctx.req.headers[name] === undefined) &&
  ctx.req.headers.origin !== '' &&
  !asksForPage(ctx) &&
  !hasCorsHeaders(ctx);

/** Returns whether middleware of an extension has set headers for other origins. oidc-provider then leaves the headers as they are, and checks no origin. */
const hasCorsHeaders = ({ res }: PlainContext): boolean => res.getHeaderNames().some((name) => name.startsWith('access-control-'));

const usualAccepts: ReadonlySet<string | undefined> = new Set([undefined, '*/*', 'application/json']);

/** Returns whether a refusal would be a page, which oidc-provider shows. */
const asksForPage = (ctx: PlainContext): boolean => !usualAccepts.has(ctx.req.headers.accept) && ctx.accepts('json', 'html') === 'html';

/** Returns the bearer token of a GET without parameters. @see RFC 6750 §2.1 */
export function plainBearer(ctx: PlainContext): string | undefined {
  const { req, querystring } = ctx;
  if (req.method !== 'GET' || querystring !== '' || !hasPlainHeaders(ctx)) return undefined;
  return /^bearer ([\w.~+/-]+=*)$/i.exec(req.headers.authorization ?? '')?.[1];
}

type Fields = Readonly<Record<string, string | undefined>>;

/** A client, and its credentials. A public client has no credentials. */
interface Credentials {
  readonly clientId: string;
  readonly secret?: string | undefined;
  readonly assertion?: string | undefined;
}

export interface PlainForm extends Credentials {
  readonly fields: Fields;
  /** Whether the form has a field without a value. Such a field is not in {@link fields}. */
  readonly hasEmpty: boolean;
}

const formType = /^application\/x-www-form-urlencoded(?:; ?charset=utf-8)?$/i;

/** Maximum bytes that oidc-provider accepts. */
const LIMIT = 56 * 1024;

/**
 * Returns the fields of a form, and the credentials of its client. The body arrived before the request was admitted, and is put back in the same tick, because
 * a request that was read to its end could not be read again.
 */
export function plainForm(ctx: PlainContext): PlainForm | undefined {
  const { req } = ctx;
  if (req.method !== 'POST' || !hasPlainHeaders(ctx) || !formType.test(req.headers['content-type'] ?? '')) return undefined;
  const length = Number(req.headers['content-length']);
  if (!(length > 0 && length <= LIMIT)) return undefined;
  const body = req.read() as Buffer | null;
  if (body) req.unshift(body);
  const text = body?.length === length ? decodeForm(body) : undefined;
  const form = text === undefined ? undefined : singleFields(text);
  const credentials = form && credentialsOf(req, form.fields);
  return credentials && { ...credentials, ...form };
}

/** Returns the fields if each field occurs once. */
function singleFields(text: string): Pick<PlainForm, 'fields' | 'hasEmpty'> | undefined {
  const fields = parse(text);
  let hasEmpty = false;
  for (const name in fields) {
    if (typeof fields[name] !== 'string') return undefined;
    // An empty parameter counts as absent. @see RFC 6749 §3.2
    if (fields[name] !== '') continue;
    delete fields[name];
    hasEmpty = true;
  }
  return { fields: fields as Fields, hasEmpty };
}

/** Returns the client and its credentials, if there is at most one mechanism. @see RFC 6749 §2.3.1 */
function credentialsOf({ headers: { authorization } }: IncomingMessage, fields: Fields): Credentials | undefined {
  const { client_id: clientId, client_secret: secret, client_assertion: assertion } = fields;
  if ([authorization, secret, assertion].filter((each) => each !== undefined).length > 1) return undefined;
  if (authorization !== undefined) return ofClient(clientId, decodedCredentials(authorization));
  if (assertion !== undefined) return ofClient(clientId, assertedCredentials(assertion, fields));
  return clientId === undefined ? undefined : { clientId, secret };
}

/** Returns the credentials, unless the form names another client. */
const ofClient = (clientId: string | undefined, credentials: Credentials | undefined): Credentials | undefined =>
  clientId === undefined || clientId === credentials?.clientId ? credentials : undefined;

/** @see RFC 7523 §2.2 */
const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

function assertedCredentials(assertion: string, { client_assertion_type: type }: Fields): Credentials | undefined {
  const clientId = type === JWT_BEARER ? assertedClientId(assertion) : undefined;
  return clientId === undefined ? undefined : { clientId, assertion };
}

/** Text in application/x-www-form-urlencoded that has only one reading: escapes are complete, and no other byte needs an escape. */
const formEncoded = /^(?:[\w.~-]|%[\da-f]{2})+$/i;

/** Returns the decoded text; undefined if oidc-provider has to decide the meaning. @see RFC 6749 §2.3.1, Appendix B */
function decoded(text: string): string | undefined {
  if (!formEncoded.test(text)) return undefined;
  if (!text.includes('%')) return text;
  try {
    const value = decodeURIComponent(text);
    return visible.test(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Visible characters (VSCHAR). @see RFC 6749 Appendix A */
const visible = /^[ -~]+$/;

function decodedCredentials(authorization: string): Credentials | undefined {
  const basic = basicCredentials(authorization);
  if (!basic) return undefined;
  const clientId = decoded(basic.id);
  const secret = decoded(basic.secret);
  return clientId !== undefined && secret !== undefined ? { clientId, secret } : undefined;
}

/** Returns whether a text is absent or has the syntax of a scope. @see RFC 6749 §3.3 */
export const isScope = (text: string | undefined): boolean => text === undefined || scopeSyntax.test(text);

const scopeSyntax = /^[!#-[\]-~]+(?: [!#-[\]-~]+)*$/;
