import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { parseAcrValues } from '../../acr-values.js';
import { UnavailableError } from '../../errors.js';
import { isOfKind } from '../../store/artifact-key.js';
import { isGrantable, type Scopes } from '../accounts/scopes.js';
import { pushedIdOf } from '../artifacts/ids.js';
import { LostWrite } from '../artifacts/unit-of-work.js';
import { clientOf } from '../clients/clients.js';
import { hashedPlainChallenge } from '../clients/pkce.js';
import type { OidcParts } from '../context.js';
import { registeredClaims } from '../keys/jwt.js';
import { sessionTtl } from '../sessions/sessions.js';
import { signedResponse } from '../upstream/id-token.js';
import { saveSession } from '../upstream/session.js';
import { customLimits, customMembers, isRequestParameter, type Pair, returnable } from './parameters.js';
import { formFields, placeOf, redirectTo } from './response.js';

type Query = Record<string, string | string[] | undefined>;

/** What we carry with an authorization request, through pushed requests and the pages, as one parameter of our own. */
interface Carried {
  /** Parameters that are not the protocol's, to be returned as they came; null when they are too many. */
  readonly custom: readonly Pair[] | null;
  /** The scope as it was asked for, before oidc-provider drops what it does not know. */
  readonly scope?: string;
  /** The challenge came as `plain`. */
  readonly plainPkce?: true;
}

/** Never readable from outside: whatever a caller sends under this name is a custom parameter like any other. */
export const carriedParameter = '__custom';

/** Parameters that node:querystring reads; what comes after them is lost. */
const MAX_PARAMETERS = 1000;

/** Sign-in parameters that oidc-provider keeps with the request without knowing them. */
export const passedOnParameters = ['sso_token', 'eid_user_visible_data', 'eid_user_visible_data_format', 'eid_call_initiator'] as const;

/** Sets aside what oidc-provider would drop: custom parameters, and the scope as asked for. */
export function carryParameters(route: string, query: Query): Query {
  if (route !== 'authorization' && route !== 'pushed_authorization_request') return query;
  const known: Query = Object.create(null);
  const custom: Pair[] = [];
  let count = 0;
  for (const name in query) {
    const value = query[name];
    count += Array.isArray(value) ? value.length : 1;
    if (isRequestParameter(name)) known[name] = value;
    else for (const each of [value].flat()) if (each !== undefined) custom.push([name, each]);
  }
  // Where the request was pushed, all of it is there. @see RFC 9126 §4, RFC 9101 §5
  const isElsewhere = route === 'authorization' ? isPushed(known.request_uri) : known.request !== undefined;
  const hashed = hashedPlainChallenge(known);
  const carried: Carried = {
    custom: isElsewhere ? [] : count < MAX_PARAMETERS ? returnable(custom) : null,
    ...(typeof known.scope === 'string' ? { scope: known.scope } : {}),
    ...(hashed ? { plainPkce: true } : {}),
  };
  Object.assign(known, hashed);
  known[carriedParameter] = JSON.stringify(carried);
  return known;
}

const isPushed = (requestUri: Query[string]): boolean => typeof requestUri === 'string' && pushedIdOf(requestUri) !== undefined;

/** That nothing came with a request. */
export const carriedNothing = JSON.stringify({ custom: [] } satisfies Carried);

const challengeParameters = ['code_challenge', 'code_challenge_method'] as const;

/**
 * What takes the place of the parameters that oidc-provider took from a request object: those beside it count where it has none.
 * @param claims the object's.
 * @param inside the object's parameters, and
 * @param beside those of the URL, each with what is carried with them.
 * @see OpenID Connect Core §6.1
 */
export function mergedParameters(claims: object, inside: Query, beside: Readonly<Record<string, unknown>>): Record<string, unknown> {
  // A challenge of one side with the method of the other would be neither's.
  const hasChallenge = challengeParameters.some((name) => Object.hasOwn(claims, name));
  const challenge = hasChallenge ? Object.fromEntries(challengeParameters.map((name) => [name, inside[name]])) : {};
  const isMissing = (name: string): boolean => name !== 'request' && !Object.hasOwn(claims, name) && !Object.hasOwn(challenge, name);
  const [within, without] = [carriedIn(inside), carriedIn(beside)];
  const { scope } = Object.hasOwn(claims, 'scope') ? within : without;
  const { plainPkce } = hasChallenge ? within : without;
  const custom = within.custom && without.custom && [...without.custom.filter(([name]) => isMissing(name)), ...within.custom];
  const carried: Carried = {
    custom: custom && returnable(custom),
    ...(scope === undefined ? {} : { scope }),
    ...(plainPkce ? { plainPkce } : {}),
  };
  return {
    ...Object.fromEntries(Object.entries(beside).filter(([name, value]) => value !== undefined && isMissing(name))),
    ...challenge,
    // oidc-provider takes them out of the object, and nothing uses them.
    display: undefined,
    claims_locales: undefined,
    [carriedParameter]: JSON.stringify(carried),
  };
}

const carriedIn = (parameters: Readonly<Record<string, unknown>>): Carried =>
  JSON.parse(String(parameters[carriedParameter] ?? carriedNothing)) as Carried;

/** A request asks several times, and most ask for the same. */
let last: { readonly value: string; readonly carried: Carried } | undefined;

function carriedOf(ctx: KoaContextWithOIDC): Carried | undefined {
  const { params, route } = ctx.oidc;
  // Elsewhere the query is as the caller wrote it.
  const value =
    params?.[carriedParameter] ?? (route === 'authorization' && ctx.method !== 'POST' ? ctx.query[carriedParameter] : undefined);
  if (typeof value !== 'string') return undefined;
  if (last?.value !== value) last = { value, carried: JSON.parse(value) as Carried };
  return last.carried;
}

/** The last check of an authorization request: what oidc-provider lets pass, drops, or does not know. */
export const createRequestCheck =
  (scopes: Scopes) =>
  (ctx: KoaContextWithOIDC): void => {
    const { params, client } = ctx.oidc;
    const carried = carriedOf(ctx);
    const record = clientOf(client);
    if (!carried || !client || !params || !record) return;
    checkLengths(params);
    if (carried.custom === null) throw new errors.InvalidRequest(customLimits);
    if (carried.plainPkce && !record.allowPlainPkce) throw new errors.InvalidRequest('this client may not use code_challenge_method plain');
    const asked = carried.scope?.split(' ').filter(Boolean) ?? [];
    if (asked.length === 0) throw new errors.InvalidRequest('scope is required');
    checkScopes(asked, record.allowedScopes, scopes.known(ctx));
    checkAuthenticationRequirements(params.acr_values as string | undefined);
    // oidc-provider keeps offline_access for prompt=consent only; whether it takes a page to allow it is for the client's record to say.
    const mayStayOffline = client.grantTypeAllowed('refresh_token') && String(params.response_type).split(' ').includes('code');
    if (asked.includes('offline_access') && mayStayOffline) {
      params.scope = [...new Set([...String(params.scope ?? '').split(' '), 'offline_access'])].filter(Boolean).join(' ');
    }
  };

/** Bytes of parameters that are kept with a request, or sent on, and that nothing else bounds. */
const maxBytes = { state: 4096, nonce: 1024, login_hint: 1024, ui_locales: 512, acr_values: 2048 } as const;

/** @throws InvalidRequest */
function checkLengths(params: Readonly<Record<string, unknown>>): void {
  for (const name of parameterNames) {
    const value = params[name];
    if (typeof value === 'string' && value.length * 3 > maxBytes[name] && Buffer.byteLength(value) > maxBytes[name])
      throw new errors.InvalidRequest(`${name} must be at most ${maxBytes[name]} bytes long`);
  }
}

const parameterNames = Object.keys(maxBytes) as (keyof typeof maxBytes)[];

/**
 * A requirement that nothing here can meet is refused: to answer it with a weaker sign-in would mislead the client.
 * @throws InvalidRequest for a tenant that nobody can belong to; UnmetAuthenticationRequirements
 * @see OpenID Connect Core Error Code unmet_authentication_requirements
 */
function checkAuthenticationRequirements(acrValues: string | undefined): void {
  const { idp = 'local', tenant, mfa, impersonate } = parseAcrValues(acrValues);
  if (tenant === '') throw new errors.InvalidRequest('tenant: in acr_values must name one tenant');
  const unmet = [mfa && 'mfa', impersonate && 'impersonate', idp !== 'local' && 'idp'].filter(Boolean);
  if (unmet.length > 0)
    throw new errors.UnmetAuthenticationRequirements(`acr_values ask for what this service has not: ${unmet.join(', ')}`);
}

/** @throws InvalidScope for a scope that does not exist or that the client may not have. @see RFC 6749 §4.1.2.1, §5.2 */
export function checkScopes(asked: readonly string[], allowed: readonly string[], known: ReadonlySet<string>): void {
  const refused = asked.filter((scope) => !isGrantable(scope, allowed, known));
  if (refused.length > 0) throw new errors.InvalidScope('requested scope is unknown or not allowed for this client', refused.join(' '));
}

type Payload = Record<string, unknown>;

/**
 * Sends an authorization response: what was decided is stored first, so a lost race becomes an error response instead of a code that does
 * not work; then custom parameters join, and protocol parameters win.
 */
export const createResponder =
  ({ adapters, options, showPage, browserState }: OidcParts) =>
  async (
    mode: string,
    ctx: KoaContextWithOIDC,
    redirectUri: string,
    payload: Payload,
    send: (payload: Payload) => Promise<void>,
  ): Promise<void> => {
    const isError = 'error' in payload;
    // What was checked when the sign-in began is not checked again by oidc-provider.
    if (isError && ctx.oidc.route === 'resume' && !ctx.oidc.client?.redirectUriAllowed(redirectUri)) throw new errors.InvalidRedirectUri();
    const unit = adapters.unitOf(ctx);
    try {
      if (!isError) await saveSession(ctx, sessionTtl(options, ctx.oidc.session));
      await unit.commit();
    } catch (error) {
      if (isError && error instanceof UnavailableError) {
        ctx.oidc.provider.emit('authorization.error', ctx, error as never);
        Object.assign(payload, { error: error.message, error_description: error.error_description });
      } else if (!(error instanceof LostWrite)) throw error;
      else if (!isError) throw lostResponse(error);
    }
    // What was granted; RFC 6749 §4.1.2.1 knows no scope in an error.
    const { scope, ...others } = payload;
    const isJwt = mode.endsWith('jwt');
    const { origin, searchParams } = new URL(redirectUri);
    const response = {
      ...others,
      ...(isError || scope === undefined ? {} : { scope }),
      session_state: browserState.respond(ctx, origin, payload.error),
      // But for names that mean something where they go: in a JWT, or to who reads the redirect URI's own query.
      ...customMembers(carriedOf(ctx)?.custom ?? [], isJwt ? registeredClaims : searchParams.keys()),
    };
    const place = placeOf(mode, ctx.oidc.params?.response_type);
    if (place === undefined) return send(response);
    const members = isJwt ? { response: await signedResponse(ctx, response) } : response;
    if (place !== 'form_post') {
      ctx.status = 303;
      return ctx.redirect(redirectTo(redirectUri, place, members));
    }
    const client = clientOf(ctx.oidc.client);
    ctx.status = 200;
    const fields = formFields(members);
    await showPage(ctx, { page: 'continue', action: redirectUri, fields, ...(client ? { client } : {}) });
  };

const lostResponse = ({ key }: LostWrite): Error =>
  isOfKind(key, 'PushedAuthorizationRequest')
    ? new errors.InvalidRequestUri('request_uri is invalid, expired, or was already used')
    : new errors.LoginRequired('the session ended meanwhile');
