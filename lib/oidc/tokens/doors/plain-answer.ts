/** Answers of the plain door, with the status, the headers, the log lines and the commit with which oidc-provider answers the same request. */
import type { Context } from 'koa';
import type { Client } from 'oidc-provider';
import { challenge } from '../../../http/header-values.js';
import { present } from '../../../present.js';
import type { UnitOfWork } from '../../artifacts/unit-of-work.js';
import type { SettleFailure } from '../../clients/refusals.js';
import type { OidcParts } from '../../context.js';
import { commitRequest } from '../../sessions/sessions.js';
import { type AnsweredError, answerOf } from '../../upstream/errors.js';
import type { PlainContext } from './plain-request.js';

/** Endpoints that the door answers, as oidc-provider names them. */
export type Endpoint =
  | 'token'
  | 'introspection'
  | 'revocation'
  | 'userinfo'
  | 'backchannel_authentication'
  | 'pushed_authorization_request';

/** A request that failed. */
interface Failed {
  readonly ctx: Context;
  readonly endpoint: Endpoint;
  /** Client of the request. Undefined if the request failed before its client was known. */
  readonly client: Client | undefined;
  readonly unit: UnitOfWork;
}

/** Each function returns true: the request is answered. */
export interface PlainAnswers {
  /** Sends an object for which no Koa context exists. No header was set before. */
  sendWithoutContext(request: Pick<PlainContext, 'req' | 'res'>, endpoint: Endpoint, body: object): true;
  /** Sends an object as an object, as the other door does, because middleware of extensions may read it. */
  send(ctx: Context, endpoint: Endpoint, body: object | ''): true;
  /** Answers a request with an error, and commits the writes of the request. @see RFC 6749 §5.2 */
  refuse(failed: Failed, error: Error): Promise<true>;
}

export interface PlainAnswersParts {
  readonly parts: OidcParts;
  readonly settleFailure: SettleFailure;
}

export function createAnswers({ parts: { options }, settleFailure }: PlainAnswersParts): PlainAnswers {
  const exposed = exposedHeaders(options);

  function send(ctx: Context, endpoint: Endpoint, body: object | ''): true {
    const { res } = ctx;
    // Node's own method is used, because every answer has these headers, and Koa's method reads each header twice.
    const varied = res.hasHeader('Vary');
    // Middleware of the host may have set another field of Vary.
    for (const [name, value] of endpoint === 'backchannel_authentication' ? uncached : headersFor(ctx.req, exposed[endpoint]))
      if (name === 'Vary' && varied) ctx.vary(value);
      else res.setHeader(name, value);
    if (body !== '') res.setHeader('Content-Type', JSON_TYPE);
    ctx.body = body;
    return true;
  }

  return {
    send,
    sendWithoutContext({ req, res }, endpoint, body) {
      const text = JSON.stringify(body);
      for (const [name, value] of headersFor(req, exposed[endpoint])) res.setHeader(name, value);
      res.writeHead(200, { 'Content-Type': JSON_TYPE, 'Content-Length': Buffer.byteLength(text) }).end(text);
      return true;
    },
    async refuse({ ctx, endpoint, client, unit }, error) {
      const { status, body } = answerOf(error as AnsweredError);
      ctx.status = status;
      challengeCaller(ctx, endpoint, error as AnsweredError, options.issuer);
      send(ctx, endpoint, body);
      settleFailure(ctx, error as AnsweredError, { endpoint, client: client?.clientId })();
      if (unit.hasWrites) await commitRequest(unit);
      return true;
    },
  };
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** Returns the headers that let scripts of the request's origin, or of every origin, read the answer, and that keep it out of caches. */
const headersFor = ({ headers }: PlainContext['req'], exposed: string): Headers => [
  ['Vary', 'Origin'],
  ['Access-Control-Allow-Origin', headers.origin ?? '*'],
  ['Access-Control-Expose-Headers', exposed],
  ...uncached,
];

type Headers = readonly (readonly [name: string, value: string])[];

/** Returns the headers that scripts may read, by endpoint. @see RFC 9449 §8, helpers/initialize_app.js of oidc-provider */
function exposedHeaders({ features: { dPoP } }: OidcParts['options']): Readonly<Record<Endpoint, string>> {
  const always = 'WWW-Authenticate';
  const withNonce = dPoP?.enabled !== false && dPoP?.nonceSecret ? `DPoP-Nonce,${always}` : always;
  return {
    token: withNonce,
    userinfo: withNonce,
    pushed_authorization_request: withNonce,
    introspection: always,
    revocation: always,
    backchannel_authentication: always,
  };
}

/** @see RFC 6749 §5.2, RFC 6750 §3 */
function challengeCaller(
  ctx: Context,
  endpoint: Endpoint,
  { statusCode, message: error, error_description }: AnsweredError,
  realm: string,
): void {
  if (statusCode !== 401 || ctx.headers.authorization === undefined) return;
  const scheme = endpoint === 'userinfo' ? 'Bearer' : 'Basic';
  ctx.set('WWW-Authenticate', challenge(scheme, present({ realm, error, error_description })));
}

/** @see RFC 6749 §5.1 */
export const notCached = { 'Cache-Control': 'no-store', Pragma: 'no-cache' };
const uncached: Headers = Object.entries(notCached);
