/**
 * Checks of signed authorization requests, in addition to the checks of oidc-provider: signature, issuer, audience and expiry.
 * @see RFC 9101
 */
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { epochSeconds } from '../../times/epoch-seconds.js';
import { ALGORITHMS_OF_PROFILE, isAlgorithmOfProfile, isOfProfile } from '../clients/fapi.js';
import { endsWithin, isFromFuture, isMeantFor, isPast, jwtProblem } from '../clients/jwts.js';
import type { OidcParts } from '../context.js';
import { registeredClaims } from '../keys/jwt.js';
import { afterRequestObject } from '../upstream/oidc-context.js';
import { carriedNothing, carriedParameter, carryParameters, mergedParameters } from './parameters.js';

type Claims = Readonly<Record<string, unknown>>;

/** Maximum seconds for which a request object may be valid. */
export const MAX_LIFETIME_SECONDS = 3600;

/** Media types of a request object. A JWT of another `typ` was made for another purpose. @see RFC 9101 §4, RFC 8725 §3.11 */
export const types = new Set<unknown>([undefined, 'jwt', 'oauth-authz-req+jwt']);

/** Problems of request objects, and their remedies, for each endpoint that accepts them. */
export const requestObjectFaults = {
  otherKind: 'typ of the request object names another kind of JWT. Send oauth-authz-req+jwt.',
  ofNoProfile: `The request object is signed with an algorithm that FAPI 2.0 forbids. Sign it with ${ALGORITHMS_OF_PROFILE}.`,
  subIsClient: 'sub of the request object is the client_id, as in a client assertion. Leave sub out.',
  expired: 'The request object has expired. Make a new one for each request.',
  notYet: 'The request object is not valid yet. Check nbf, and set the clock of the client.',
  tooLong: `The request object is valid for too long. Set exp at most ${MAX_LIFETIME_SECONDS} seconds after nbf or iat.`,
  otherAudience: (issuer: string) => `aud of the request object names another service. Send ${issuer} as aud.`,
  missing: (name: string) => `${name} is missing in the request object. Add it.`,
} as const;

const invalid = (description: string): Error => new errors.InvalidRequestObject(description);

/** Type of a JWT for RFC 9101, as opposed to OpenID Connect Core §6.1. */
export const EXPLICIT_TYPE = 'oauth-authz-req+jwt';

/** @throws InvalidRequestObject for a request object without expiry, or for a request object that was made for another purpose. */
export const createRequestObjectCheck =
  ({ now }: Pick<OidcParts, 'now'>) =>
  (ctx: KoaContextWithOIDC, claims: Claims, header: Claims): void =>
    checkRequestObject(ctx, claims, header, epochSeconds(now()));

function checkRequestObject(ctx: KoaContextWithOIDC, claims: Claims, header: Claims, now: number): void {
  // A request that was pushed as a form is stored as an unsigned object. No client can send one.
  if (header.alg === 'none' && ctx.oidc.entities.PushedAuthorizationRequest) return;
  const { aud, sub, exp, nbf, iat } = claims;
  const typ = typeOf(header);
  if (!types.has(typ)) throw invalid(requestObjectFaults.otherKind);
  const problem = jwtProblem(header, claims);
  if (problem) throw invalid(`The request object ${problem}`);
  if (isOfProfile(ctx) && !isAlgorithmOfProfile(header.alg)) throw invalid(requestObjectFaults.ofNoProfile);
  if (!isMeantFor([ctx.oidc.issuer], aud)) throw invalid(requestObjectFaults.otherAudience(ctx.oidc.issuer));
  const params = ctx.oidc.params as Params;
  const isAlone = typ === EXPLICIT_TYPE || countsAlone(ctx);
  // An error response must not contain parameters from outside the object either.
  if (isAlone) params[carriedParameter] = carriedNothing;
  const missing = isAlone ? requiredMembers(ctx).find((name) => claims[name] === undefined) : undefined;
  if (missing) throw invalid(requestObjectFaults.missing(missing));
  // A request object whose `sub` is the client could be a client assertion, or be used as a client assertion. @see RFC 9101 §10.8
  if (sub !== undefined && sub === ctx.oidc.client?.clientId) throw invalid(requestObjectFaults.subIsClient);
  // oidc-provider compares with the node's own clock.
  if (isPast(exp, now)) throw invalid(requestObjectFaults.expired);
  if (isFromFuture(nbf, now)) throw invalid(requestObjectFaults.notYet);
  const from = [nbf, iat].find((each) => typeof each === 'number');
  if ((isAlone || exp !== undefined) && !endsWithin(MAX_LIFETIME_SECONDS, exp, from, now)) throw invalid(requestObjectFaults.tooLong);

  const inside = carryParameters('authorization', parametersIn(claims), ctx.oidc.provider);
  const beside = isAlone ? {} : { ...params };
  afterRequestObject(ctx, (taken) => Object.assign(taken, mergedParameters(claims, inside, beside, ctx.oidc.provider)));
}

/** Returns the media type of a JWT, in the form of {@link types}. @see RFC 7515 §4.1.9 */
export const typeOf = ({ typ }: Claims): unknown => (typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ);

type Params = Record<string, unknown>;

/** Returns whether only the request object counts, whatever its type. @see RFC 9101 §6.3, §10.5; RFC 9126 §3; FAPI 1.0 Part 2 §5.2.2 */
function countsAlone({ oidc }: KoaContextWithOIDC): boolean {
  const { route, entities, client } = oidc;
  if (route !== 'authorization' || entities.PushedAuthorizationRequest) return true;
  return client?.requireSignedRequestObject === true || oidc.isFapi('1.0 Final', '2.0') !== undefined;
}

/** Returns the members of a request object as parameters: a value that is not a string as JSON text, a list as a repeated parameter. */
export function parametersIn(claims: Claims): Record<string, string | string[]> {
  const parameters = Object.entries(claims).filter(([name, value]) => value !== null && !registeredClaims.has(name));
  return Object.fromEntries(parameters.map(([name, value]) => [name, Array.isArray(value) ? value.map(textOf) : textOf(value)]));
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** @see RFC 9101 §4, FAPI 2.0 Message Signing §5.3.1 */
function requiredMembers({ oidc }: KoaContextWithOIDC): string[] {
  return ['client_id', 'exp', ...(oidc.isFapi('1.0 Final', '2.0') ? ['nbf'] : [])];
}
