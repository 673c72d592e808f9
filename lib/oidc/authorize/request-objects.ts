/**
 * Authorization requests that a client signed. oidc-provider verifies signature, issuer, audience and expiry; here is what it leaves out, and
 * fetching one that is at a URL.
 * @see RFC 9101
 */
import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { GuardedResponse } from '../../fetch/guarded-fetch.js';
import { pushedIdOf } from '../artifacts/ids.js';
import { perRequest } from '../artifacts/per-request.js';
import { findCaller, isClient } from '../clients/clients.js';
import { endsWithin } from '../clients/jwts.js';
import type { OidcParts } from '../context.js';
import { registeredClaims } from '../keys/jwt.js';
import { afterRequestObject } from '../upstream/oidc-context.js';
import { carriedNothing, carriedParameter, carryParameters, mergedParameters } from './checks.js';

type Claims = Readonly<Record<string, unknown>>;

/** Seconds that a request object may be valid for. */
const MAX_LIFETIME = 3600;

/** Media types of a JWT that may be one; the `typ` of any other JWT says that it is something else. @see RFC 9101 §4, RFC 8725 §3.11 */
const types = new Set<unknown>([undefined, 'jwt', 'oauth-authz-req+jwt']);

const invalid = (description: string): Error => new errors.InvalidRequestObject(description);

/** What says that RFC 9101 was meant, where OpenID Connect Core §6.1 could be too. */
const EXPLICIT_TYPE = 'oauth-authz-req+jwt';

/** @throws InvalidRequestObject for one that is unlimited in time, or was made for something else. */
export function checkRequestObject(ctx: KoaContextWithOIDC, claims: Claims, header: Claims): void {
  // What was pushed as a form is kept as an unsigned one, and no client can bring that.
  if (header.alg === 'none' && ctx.oidc.entities.PushedAuthorizationRequest) return;
  const { aud, sub, exp, nbf, iat } = claims;
  const typ = typeof header.typ === 'string' ? header.typ.toLowerCase().replace(/^application\//, '') : header.typ;
  if (!types.has(typ)) throw invalid('typ is of another kind of JWT');
  if (aud !== ctx.oidc.issuer) throw invalid('aud must be the issuer, as a single string');
  const params = ctx.oidc.params as Params;
  const isAlone = typ === EXPLICIT_TYPE || countsAlone(ctx);
  // Nothing beside it is in an error response either.
  if (isAlone) params[carriedParameter] = carriedNothing;
  const missing = isAlone ? requiredMembers(ctx).find((name) => claims[name] === undefined) : undefined;
  if (missing) throw invalid(`${missing} must be in the request object`);
  // It would pass for a client assertion, and is one perhaps. @see RFC 9101 §10.8
  if (sub !== undefined && sub === ctx.oidc.client?.clientId) throw invalid('sub must not be the client_id');
  const from = [nbf, iat].find((each) => typeof each === 'number');
  if ((isAlone || exp !== undefined) && !endsWithin(MAX_LIFETIME, exp, from))
    throw invalid(`the request object must expire within ${MAX_LIFETIME} seconds`);

  const inside = carryParameters('authorization', parametersIn(claims));
  const beside = isAlone ? {} : { ...params };
  afterRequestObject(ctx, (taken) => Object.assign(taken, mergedParameters(claims, inside, beside)));
}

type Params = Record<string, unknown>;

/** Whether nothing beside the request object counts, however it is typed. @see RFC 9101 §6.3, §10.5; RFC 9126 §3; FAPI 1.0 Part 2 §5.2.2 */
function countsAlone({ oidc }: KoaContextWithOIDC): boolean {
  const { route, entities, client } = oidc;
  if (route !== 'authorization' || entities.PushedAuthorizationRequest) return true;
  return client?.requireSignedRequestObject === true || oidc.isFapi('1.0 Final', '2.0') !== undefined;
}

/** The members of a request object as parameters are sent: what is no string as its JSON text, a list as one that is repeated. */
function parametersIn(claims: Claims): Record<string, string | string[]> {
  const parameters = Object.entries(claims).filter(([name, value]) => value !== null && !registeredClaims.has(name));
  return Object.fromEntries(parameters.map(([name, value]) => [name, Array.isArray(value) ? value.map(textOf) : textOf(value)]));
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** @see RFC 9101 §4, CIBA Core §7.1.1, FAPI 2.0 Message Signing §5.3.1 */
function requiredMembers({ oidc }: KoaContextWithOIDC): string[] {
  if (oidc.route === 'backchannel_authentication') return ['exp', 'iat', 'nbf', 'jti'];
  return ['client_id', 'exp', ...(oidc.isFapi('1.0 Final', '2.0') ? ['nbf'] : [])];
}

/** @see RFC 9101 §5.2.3, OpenID Connect Core §6.2 */
const mediaTypes = ['application/oauth-authz-req+jwt', 'application/jwt'];
const LIMITS = { timeoutMs: 2000, maxBytes: 65_536, headers: { accept: mediaTypes.join(', ') } };

/** Milliseconds that the content of a URL with a fragment is kept, and bytes in all. */
const KEPT_MS = 10 * 60_000;
const MAX_KEPT = 16 * 1024 * 1024;

/** Metadata of a client, registered as any other. @throws InvalidClientMetadata @see OpenID Connect Dynamic Client Registration §2 */
export function checkRequestUris(_ctx: unknown, _name: string, uris: unknown): void {
  const isRight =
    Array.isArray(uris) && uris.every((uri) => typeof uri === 'string' && /^https?:\/\/[^/@]+(?:[/?#]|$)/.test(uri) && URL.canParse(uri));
  if (uris !== undefined && !isRight) throw new errors.InvalidClientMetadata('request_uris must be an array of https URLs');
}

export interface RequestUris {
  /** Puts the request object that a registered URL has in the place of the URL. */
  resolve(ctx: Context): Promise<void>;
  /** @throws InvalidRequest, InvalidRequestUri */
  check(ctx: KoaContextWithOIDC): void;
}

/** @see RFC 9101 §5.2 */
export function createRequestUris({ directory, remote, logger }: OidcParts): RequestUris {
  const problems = perRequest((): { uri?: string } => ({}));
  const documents = remote.reader(LIMITS, requestObjectOf);
  const kept = new LRUCache<string, { readonly text: string; readonly until: number }>({
    maxSize: MAX_KEPT,
    sizeCalculation: ({ text }) => text.length + 1,
  });

  /** A fragment names the content: another content has another. Without one the URL may have an object for each who asks. */
  async function read(uri: string): Promise<string> {
    if (!uri.includes('#')) return documents.readAnew(uri);
    const known = kept.get(uri);
    if (known && Date.now() < known.until) return known.text;
    const text = await documents.read(uri);
    kept.set(uri, { text, until: Date.now() + KEPT_MS });
    return text;
  }

  return {
    async resolve(ctx) {
      const { client_id: clientId, request_uri: uri, request } = ctx.query;
      if (typeof uri !== 'string' || pushedIdOf(uri) !== undefined || typeof clientId !== 'string' || request !== undefined) return;
      const client = await findCaller(directory, clientId);
      if (!isClient(client)) return;
      const { request_uris: registered } = client.metadata;
      if (!Array.isArray(registered) || !registered.includes(uri)) {
        problems(ctx).uri = 'request_uri is not registered';
        return;
      }
      try {
        const { request_uri: _, ...query } = ctx.query;
        Object.defineProperty(ctx, 'query', { configurable: true, value: { ...query, request: await read(uri) } });
      } catch (error) {
        // Whoever asks does not learn why: it would tell them about the network.
        logger.info({ err: error, client: clientId }, 'request_uri could not be read');
        problems(ctx).uri = 'request_uri could not be read';
      }
    },
    check(ctx) {
      const { route, params } = ctx.oidc;
      if (route !== 'authorization' && route !== 'pushed_authorization_request') return;
      if (params?.request !== undefined && params.request_uri !== undefined)
        throw new errors.InvalidRequest('request and request_uri cannot be used together');
      const { uri } = problems(ctx);
      if (uri !== undefined) throw new errors.InvalidRequestUri(uri);
    },
  };
}

function requestObjectOf({ status, headers, body }: GuardedResponse): string {
  if (status !== 200) throw new Error(`${status} is not 200`);
  const [type = ''] = (headers['content-type'] ?? '').toLowerCase().split(';');
  if (!mediaTypes.includes(type.trim())) throw new Error(`${type} is not the type of a request object`);
  return body.toString().trim();
}
