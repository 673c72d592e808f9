/**
 * Parameters of an authorization request that are not the protocol's: they come back with the response as they came, in their order.
 * @see service specification 4.2, Custom parameters
 */

/** A name and a value; of a repeated name there are several. */
export type Pair = readonly [name: string, value: string];

/** Parameters that are understood here, or by the sign-in methods, or that are the protocol's although nobody here understands them. */
const requestParameters = new Set(
  `acr_values authorization_details claims client_assertion client_assertion_type client_id client_secret code_challenge
  code_challenge_method dpop_jkt eid_call_initiator eid_user_visible_data eid_user_visible_data_format id_token_hint login_hint
  login_hint_token max_age nonce prompt redirect_uri registration request request_uri resource response_mode response_type scope sso_token
  state ui_locales`.split(/\s+/),
);

export const isRequestParameter = (name: string): boolean => requestParameters.has(name);

/** Names of a response, and those of secrets, which no URL may hold. @see RFC 9700 §4.5 */
const reservedNames = new Set(
  `access_token client_secret code error error_description error_uri expires_in id_token iss password refresh_token response scope
  session_state state token_type`.split(/\s+/),
);

const MAX_NAMES = 100;
const MAX_BYTES = 4096;

export const customLimits = `at most ${MAX_NAMES} custom parameters of ${MAX_BYTES} bytes in all are returned`;

/** Pairs, of which the reserved ones are left out; null when there are too many to be returned. */
export function returnable(pairs: readonly Pair[]): readonly Pair[] | null {
  const kept = pairs.filter(([name]) => !isSpelling(name, reservedNames));
  const bytes = kept.reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0);
  return bytes <= MAX_BYTES && new Set(kept.map(([name]) => name)).size <= MAX_NAMES ? kept : null;
}

/**
 * Pairs as members of a response: a repeated name has the list of its values.
 * @param taken names that mean something where the response goes: a pair of such a name is left out.
 */
export function customMembers(pairs: readonly Pair[], taken: Iterable<string>): Record<string, string | readonly string[]> {
  if (pairs.length === 0) return {};
  const reserved = new Set(Array.from(taken, (name) => underscored(folded(name))));
  const members = new Map<string, string | readonly string[]>();
  for (const [name, value] of pairs) {
    if (isSpelling(name, reserved)) continue;
    const before = members.get(name);
    members.set(name, before === undefined ? value : [before, value].flat());
  }
  return Object.fromEntries(members);
}

/** Whether some framework reads a name as one of `names`: they fold case and width, and cut or replace what is no part of a name to them. */
function isSpelling(name: string, names: ReadonlySet<string>): boolean {
  const text = folded(name);
  return [text, text.replaceAll('\0', '').trim()].some((each) => prefixesOf(each).some((prefix) => names.has(prefix)));
}

/** A NUL stays: there are those who end a name at it. */
const folded = (name: string): string =>
  name
    .normalize('NFKC')
    .toLowerCase()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is meant
    .replace(/[\x01-\x1f\x7f-\x9f]/g, '')
    .trim();

const cut = /[[. +\0]/g;

const underscored = (text: string): string => text.replace(cut, '_');

/** `code[]`, `id.token`, `session[state`: all of it, and what stands before each place where it may be cut. */
const prefixesOf = (text: string): string[] =>
  [...Array.from(text.matchAll(cut), ({ index }) => index), text.length].map((end) => underscored(text.slice(0, end)));
