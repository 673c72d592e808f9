import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { parseAcrValues } from '../acr-values.js';
import { UnavailableError } from '../errors.js';
import { isOfKind } from '../store/artifact-key.js';
import { isClient } from './clients.js';
import type { OidcParts } from './dependencies.js';
import { recordOf, saveSession, signedResponse } from './internals.js';
import { registeredClaims } from './jwt.js';
import { hashedPlainChallenge } from './pkce.js';
import { isGrantable, type Scopes } from './scopes.js';
import { sessionTtl } from './sessions.js';
import { LostWrite } from './unit-of-work.js';

type Query = Record<string, string | string[] | undefined>;

/** What we carry with an authorization request, through pushed requests and the pages, as one parameter of our own. */
interface Carried {
  /** Parameters that are not the protocol's, to be returned unmodified; null when they are too many. */
  readonly custom: Record<string, string> | null;
  /** The scope as it was asked for, before oidc-provider drops what it does not know. */
  readonly scope?: string;
  /** The challenge came as `plain`. */
  readonly plainPkce?: true;
}

/** Never readable from outside: whatever a caller sends under this name is a custom parameter like any other. */
export const carriedParameter = '__custom';

const MAX_CUSTOM = 20;
const MAX_CUSTOM_BYTES = 4096;

/** Parameters that are understood here, or by the sign-in methods; they are not returned. */
const requestParameters = new Set(
  `acr_values authorization_details claims claims_locales client_assertion client_assertion_type client_id client_secret code_challenge
  code_challenge_method display dpop_jkt eid_call_initiator eid_user_visible_data eid_user_visible_data_format id_token_hint login_hint
  login_hint_token max_age nonce prompt redirect_uri registration request request_uri resource response_mode response_type scope sso_token
  state ui_locales`.split(/\s+/),
);

/** Names that mean something in a response, or would be a secret in a URL: never taken from a request. @see RFC 9700 §4.5 */
const reservedNames = new Set(
  `__proto__ access_token code constructor error error_description error_uri expires_in id_token iss password prototype refresh_token
  response scope session_state state token_type`.split(/\s+/),
);

/** Sign-in parameters that oidc-provider keeps with the request without knowing them. */
export const passedOnParameters = ['sso_token', 'eid_user_visible_data', 'eid_user_visible_data_format', 'eid_call_initiator'] as const;

const routesWithCustom = new Set(['authorization', 'pushed_authorization_request']);

/** Sets aside what oidc-provider would drop: custom parameters, and the scope as asked for. */
export function carryParameters(route: string, query: Query): Query {
  if (!routesWithCustom.has(route)) return query;
  // Where the request is elsewhere, all of it is there. @see RFC 9101 §5, §6.3
  const isElsewhere = query.request !== undefined || query.request_uri !== undefined;
  const known: Query = Object.create(null);
  const custom: Record<string, string> = Object.create(null);
  let bytes = 0;
  let count = 0;
  for (const name in query) {
    const value = query[name];
    if (requestParameters.has(name)) known[name] = value;
    else if (!isElsewhere && !reservedNames.has(name) && typeof value === 'string') {
      custom[name] = value;
      count += 1;
      bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
    }
  }
  const fits = count <= MAX_CUSTOM && bytes <= MAX_CUSTOM_BYTES;
  const hashed = hashedPlainChallenge(known);
  const carried: Carried = {
    custom: fits ? custom : null,
    ...(typeof query.scope === 'string' ? { scope: query.scope } : {}),
    ...(hashed ? { plainPkce: true } : {}),
  };
  Object.assign(known, hashed);
  known[carriedParameter] = JSON.stringify(carried);
  return known;
}

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
    const record = client && recordOf(client);
    if (!carried || !client || !params || !isClient(record)) return;
    if (carried.custom === null) {
      throw new errors.InvalidRequest(`at most ${MAX_CUSTOM} custom parameters of ${MAX_CUSTOM_BYTES} bytes in all are returned`);
    }
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
    const isJwt = mode.endsWith('jwt');
    const { origin, searchParams } = new URL(redirectUri);
    const { custom: given, scope } = carriedOf(ctx) ?? {};
    const custom = returnedParameters(given ?? {}, (name) => (isJwt ? registeredClaims.has(name) : searchParams.has(name)));
    const session_state = browserState.respond(ctx, origin, payload.error);
    const response = { ...custom, ...(isError && scope !== undefined ? { scope } : {}), ...payload, session_state };
    if (!mode.startsWith('form_post')) return send(response);
    const record = ctx.oidc.client && recordOf(ctx.oidc.client);
    ctx.status = 200;
    const members = isJwt ? { response: await signedResponse(ctx, response) } : response;
    const fields = Object.fromEntries(Object.entries(members).map(([name, value]) => [name, String(value)]));
    await showPage(ctx, { page: 'continue', action: redirectUri, fields, ...(isClient(record) ? { client: record } : {}) });
  };

/** Custom parameters, but for names that already mean something where they go: in a JWT, or in the redirect URI's own query. */
const returnedParameters = (custom: Readonly<Record<string, string>>, isTaken: (name: string) => boolean): Record<string, string> =>
  Object.fromEntries(Object.entries(custom).filter(([name]) => !isTaken(name)));

const lostResponse = ({ key }: LostWrite): Error =>
  isOfKind(key, 'PushedAuthorizationRequest')
    ? new errors.InvalidRequestUri('request_uri is invalid, expired, or was already used')
    : new errors.LoginRequired('the session ended meanwhile');
