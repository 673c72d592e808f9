/**
 * Parameters of an authorization request, which the service reads before oidc-provider does.
 *
 * Custom parameters, and values that oidc-provider would drop, are carried with the request in one parameter of the service. Custom parameters are returned
 * with the response, unchanged and in their order. The next steps are request objects, `checks`, `prompts` and the `response`.
 * @see service specification 4.2, Custom parameters
 */

import type { Configuration, KoaContextWithOIDC } from 'oidc-provider';
import { mayBeKept } from '../../http/requests/kept-size.js';
import { present } from '../../present.js';
import { normalForm } from '../../text/normal-form.js';
import { pushedIdOf } from '../artifacts/ids.js';
import { type CodeRequest, hashedPlainChallenge } from '../clients/pkce.js';

/** A name and a value. A repeated name has several pairs. */
export type Pair = readonly [name: string, value: string];

/** Parameters that the service or sign-in methods know, and parameters of the protocol that nothing here uses. */
const requestParameters = new Set(
  `acr_values authorization_details claims client_assertion client_assertion_type client_id client_secret code_challenge
  code_challenge_method dpop_jkt eid_call_initiator eid_user_visible_data eid_user_visible_data_format id_token_hint login_hint
  login_hint_token max_age nonce prompt redirect_uri registration request request_uri resource response_mode response_type scope sso_token
  state ui_locales`.split(/\s+/),
);

/** Returns whether the service, a sign-in method or the protocol knows the parameter, whether or not anything uses it. */
export const isRequestParameter = (name: string): boolean => requestParameters.has(name);

/** Parameters that have a meaning only while a feature is on, with their feature. */
const ofFeatures = {
  claims: 'claimsParameter',
  resource: 'resourceIndicators',
  authorization_details: 'richAuthorizationRequests',
} as const;

const unusedBy = new WeakMap<object, ReadonlySet<string>>();
const none: ReadonlySet<string> = new Set();

/** Notes the features of an oidc-provider, after `configure`. Parameters of features that are off are custom parameters of its requests. */
export function noteFeatures(provider: object, { features = {} }: Configuration): void {
  const unused = Object.entries(ofFeatures).flatMap(([name, feature]) => (features[feature]?.enabled ? [] : name));
  unusedBy.set(provider, new Set(unused));
}

/** Names of response parameters, and of secrets, which no URL may hold. @see RFC 9700 §4.5 */
const reservedNames = new Set(
  `access_token client_secret code error error_description error_uri expires_in id_token iss password refresh_token response scope
  session_state state token_type`.split(/\s+/),
);

const MAX_NAMES = 100;
const MAX_BYTES = 4096;

export const customLimits = `There are too many custom parameters. Send at most ${MAX_NAMES} of ${MAX_BYTES} bytes in all.`;

/**
 * Returns the pairs without the reserved names; null if there are too many pairs. The limits are checked first and count all pairs, so that only short
 * names are compared.
 *
 * Parameters of features that are off refuse no request: the service leaves them out if the pairs exceed a limit with them. The service also leaves them
 * out if the request could not be stored with them.
 */
function returnable(
  given: readonly Pair[],
  unused: ReadonlySet<string>,
  isKeepable: (returned: readonly Pair[]) => boolean,
): readonly Pair[] | null {
  // A parameter of the protocol without a value is absent (RFC 6749 §3.1).
  const pairs = given.filter(([name, value]) => value !== '' || !unused.has(name));
  const custom = pairs.filter(([name]) => !unused.has(name));
  const isReturned = ([name]: Pair): boolean => !isSpelling(name, reservedNames);
  if (custom.length < pairs.length && isWithinLimits(pairs)) {
    const all = pairs.filter(isReturned);
    if (isKeepable(all)) return all;
  }
  return isWithinLimits(custom) ? custom.filter(isReturned) : null;
}

function isWithinLimits(pairs: readonly Pair[]): boolean {
  let bytes = 0;
  for (const [name, value] of pairs) {
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value);
    if (bytes > MAX_BYTES) return false;
  }
  return new Set(pairs.map(([name]) => name)).size <= MAX_NAMES;
}

/**
 * Returns pairs as members of a response. A repeated name has the list of its values.
 * @param taken names with a meaning in the response: pairs of these names are left out.
 */
export function customMembers(pairs: readonly Pair[], taken: Iterable<string>): Record<string, string | readonly string[]> {
  const reserved = new Set(Array.from(taken, readings).flat());
  const members = new Map<string, string[]>();
  for (const [name, value] of pairs) {
    const values = members.get(name);
    if (values) values.push(value);
    else if (!isSpelling(name, reserved)) members.set(name, [value]);
  }
  return Object.fromEntries(Array.from(members, ([name, [value = '', ...more]]) => [name, more.length === 0 ? value : [value, ...more]]));
}

/** Returns whether some framework reads a name as one of `names`. Frameworks fold case and width, and cut or replace characters that they do not allow. */
function isSpelling(name: string, names: ReadonlySet<string>): boolean {
  const text = folded(name);
  return isCutTo(text, names) || (text.includes('\0') && isCutTo(text.replaceAll('\0', '').trim(), names));
}

/** Returns the name without case, width and control characters. A NUL stays, because some frameworks end a name at it. */
const folded = (name: string): string =>
  normalForm(name, 'NFKC')
    // The dotless i and the dotted i are different letters until a framework compares names in upper case.
    .toUpperCase()
    .toLowerCase()
    .replaceAll('i\u0307', 'i')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is meant
    .replace(/[\x01-\x1f\x7f-\x9f]/g, '')
    .trim();

const cuts = '[]. +\0';
/** Returns the name without leading brackets and dots, because qs reads `[error]` and `.error` as `error`, and Rack reads `[error]` as `error`. */
const withoutLead = (text: string): string => text.replace(/^[[\].\s]+/, '');

/** Returns the names that a framework may read for a name: `opts[a]` is a member of `opts`, and another member of `opts` may replace it. */
function readings(name: string): readonly string[] {
  const text = withoutLead(folded(name));
  const end = [...text].findIndex((character) => cuts.includes(character));
  return [underscored(text), ...(end > 0 ? [[...text].slice(0, end).join('')] : [])];
}

const underscored = (text: string): string => text.replace(/[[. +\0]/g, '_');

/** Returns whether the text is one of the names, or begins with a name that some framework cuts out: `code[]`, `id.token`, `session[state`. */
function isCutTo(given: string, names: ReadonlySet<string>): boolean {
  const text = withoutLead(given);
  const whole = underscored(text);
  for (const name of names) {
    const next = text[name.length];
    if ((next === undefined || cuts.includes(next)) && whole.startsWith(name)) return true;
  }
  return false;
}

type Query = Record<string, string | string[] | undefined>;

/** Values that the service carries with an authorization request, through pushed requests and the pages, in one parameter. */
interface Carried {
  /** Custom parameters, to be returned unchanged; null if there are too many. */
  readonly custom: readonly Pair[] | null;
  /** The requested scope, before oidc-provider drops unknown scopes. */
  readonly scope?: string;
  /** Whether the challenge was `plain`. */
  readonly plainPkce?: true;
}

/** Name of the parameter with the carried values. A client cannot set the carried values: a parameter of this name in a request is a custom parameter. */
export const carriedParameter = '__custom';

/** Maximum parameters that node:querystring reads. Further parameters are lost. */
const MAX_PARAMETERS = 1000;

/** Parameters for sign-in methods. oidc-provider stores them with the request without knowing them. */
export const passedOnParameters = ['sso_token', 'eid_user_visible_data', 'eid_user_visible_data_format', 'eid_call_initiator'] as const;

/**
 * Sets aside values that oidc-provider would drop: custom parameters, and the requested scope. @param provider instance whose features define parameters
 */
export function carryParameters(route: string, query: Query, provider: object): Query {
  if (route !== 'authorization' && route !== 'pushed_authorization_request') return query;
  const unused = unusedBy.get(provider) ?? none;
  const known: Query = Object.create(null);
  const custom: Pair[] = [];
  let count = 0;
  for (const name in query) {
    const value = query[name];
    count += Array.isArray(value) ? value.length : 1;
    // A parameter without a value is absent. Custom parameters are returned unchanged. @see RFC 6749 §3.1
    if (requestParameters.has(name) && !unused.has(name)) {
      if (value !== '') known[name] = value;
    } else for (const each of [value].flat()) if (each !== undefined) custom.push([name, each]);
  }
  // A pushed request is complete. @see RFC 9126 §4, RFC 9101 §5
  const isElsewhere = route === 'authorization' ? isPushed(known.request_uri) : known.request !== undefined;
  const hashed = hashedPlainChallenge(known);
  Object.assign(known, hashed);
  const carrying = (pairs: readonly Pair[] | null): Query => {
    const carried: Carried = {
      custom: pairs,
      ...(typeof known.scope === 'string' ? { scope: known.scope } : {}),
      ...(hashed ? { plainPkce: true } : {}),
    };
    return Object.assign(Object.create(null), known, { [carriedParameter]: JSON.stringify(carried) });
  };
  if (isElsewhere) return carrying([]);
  return carrying(count < MAX_PARAMETERS ? returnable(custom, unused, (pairs) => mayBeKept(carrying(pairs), 'longer')) : null);
}

const isPushed = (requestUri: Query[string]): boolean => typeof requestUri === 'string' && pushedIdOf(requestUri) !== undefined;

/** Carried values of a request that carries nothing. */
export const carriedNothing = JSON.stringify({ custom: [] } satisfies Carried);

const challengeParameters = ['code_challenge', 'code_challenge_method'] as const;

/**
 * Returns the parameters that replace the parameters of the request. oidc-provider has read a request object. Parameters next to the object count if the
 * object does not have them.
 * @param claims of the object.
 * @param inside parameters of the object, with its carried values.
 * @param beside parameters of the URL, with its carried values.
 * @param provider instance whose features define parameters.
 * @see OpenID Connect Core §6.1
 */
export function mergedParameters(
  claims: object,
  inside: Query,
  beside: Readonly<Record<string, unknown>>,
  provider: object,
): Record<string, unknown> {
  // A challenge of one source with the method of the other would belong to neither.
  const hasChallenge = challengeParameters.some((name) => Object.hasOwn(claims, name));
  const challenge = hasChallenge ? Object.fromEntries(challengeParameters.map((name) => [name, inside[name]])) : {};
  const isMissing = (name: string): boolean => name !== 'request' && !Object.hasOwn(claims, name) && !Object.hasOwn(challenge, name);
  const [within, without] = [carriedIn(inside), carriedIn(beside)];
  const { scope } = Object.hasOwn(claims, 'scope') ? within : without;
  const { plainPkce } = hasChallenge ? within : without;
  const custom = within.custom && without.custom && [...without.custom.filter(([name]) => isMissing(name)), ...within.custom];
  const carrying = (pairs: readonly Pair[] | null): Record<string, unknown> => ({
    ...Object.fromEntries(Object.entries(beside).filter(([name, value]) => value !== undefined && isMissing(name))),
    ...challenge,
    // oidc-provider removes these members from the object, and nothing uses them.
    display: undefined,
    claims_locales: undefined,
    [carriedParameter]: JSON.stringify({
      custom: pairs,
      ...present({ scope }),
      ...(plainPkce ? { plainPkce } : {}),
    } satisfies Carried),
  });
  const isKeepable = (pairs: readonly Pair[]): boolean => mayBeKept({ ...inside, ...carrying(pairs) }, 'longer');
  return carrying(custom && returnable(custom, unusedBy.get(provider) ?? none, isKeepable));
}

const carriedIn = (parameters: Readonly<Record<string, unknown>>): Carried =>
  JSON.parse(String(parameters[carriedParameter] ?? carriedNothing)) as Carried;

/** Last value that was read. A request reads the value several times, and the value is mostly the same. */
let last: { readonly value: string; readonly carried: Carried } | undefined;

export function carriedOf(ctx: KoaContextWithOIDC, { params, route }: KoaContextWithOIDC['oidc']): Carried | undefined {
  // In other routes, the query is what the caller wrote.
  const value =
    params?.[carriedParameter] ?? (route === 'authorization' && ctx.method !== 'POST' ? ctx.query[carriedParameter] : undefined);
  if (typeof value !== 'string') return undefined;
  if (last?.value !== value) last = { value, carried: JSON.parse(value) as Carried };
  return last.carried;
}

/** Returns members of a code about its request. */
export function codeRequestOf(ctx: KoaContextWithOIDC): CodeRequest {
  const { entities } = ctx.oidc;
  const { parJti } = (entities.Interaction ?? {}) as { readonly parJti?: string };
  return {
    ...(carriedOf(ctx, ctx.oidc)?.plainPkce ? { plainPkce: true } : {}),
    ...(entities.PushedAuthorizationRequest || parJti !== undefined ? { wasPushed: true } : {}),
  };
}
