/** Parses `acr_values` of authorization requests: all names that the service knows. */

export interface AcrValues {
  /** The sign-in method to use. */
  readonly idp?: string;
  /** The tenant that the user must belong to. Every path that issues a token enforces the tenant. No user belongs to the tenant of the empty string. */
  readonly tenant?: string;
  /** Whether the request requires a second factor. */
  readonly mfa: boolean;
  /**
   * Whether the request prefers a second factor and accepts a password alone. A user who has a second factor is asked for it. Never true together with
   * {@link mfa}.
   */
  readonly prefersMfa: boolean;
  /** True, or the id of the user to impersonate. */
  readonly impersonate: boolean | string;
}

/**
 * Parses space-separated `name:value` pairs. Unknown names are ignored. `mfa` and `mfa:<any value except false>` mean the same. `impersonate` is parsed in
 * the same way.
 * If one request has both bare `mfa` and bare `pwd`, they are levels in the client's order of preference, and no requirement. `mfa pwd` prefers a second
 * factor. `pwd mfa` does not request a second factor.
 * If a name is repeated, the first value counts. A requirement counts if any of the values requires it. `tenant` without a value, or with several values, is
 * the empty tenant, to which no user belongs.
 * @see OpenID Connect Core §3.1.2.1
 * @example
 * ```ts
 * import { parseAcrValues } from 'tenant-idp/extension';
 *
 * console.log(parseAcrValues('mfa tenant:acme').mfa); // true
 * ```
 */
export function parseAcrValues(text: string | undefined): AcrValues {
  if (!text) return nothing;
  const pairs = text.split(' ');
  const values = new Map<string, string[]>();
  for (const pair of pairs) {
    const colon = pair.indexOf(':');
    const name = colon === -1 ? pair : pair.slice(0, colon);
    const value = colon === -1 ? '' : pair.slice(colon + 1);
    const known = values.get(name);
    if (known) known.push(value);
    else values.set(name, [value]);
  }
  const of = (name: string): readonly string[] => values.get(name) ?? [];
  const asked = (name: string): string | undefined => of(name).find((value) => value !== 'false');
  const [idp] = of('idp');
  const [tenant, ...others] = new Set(of('tenant'));
  const impersonated = asked('impersonate');
  const levels = pairs.filter((pair) => acrLevels.includes(pair));
  const isPreference = acrLevels.every((level) => levels.includes(level));
  const mfa = pairs.some((pair) => (pair === 'mfa' ? !isPreference : pair.startsWith('mfa:') && pair !== 'mfa:false'));
  return {
    ...(idp ? { idp } : {}),
    ...(tenant === undefined ? {} : { tenant: others.length === 0 ? tenant : '' }),
    mfa,
    prefersMfa: !mfa && isPreference && levels[0] === 'mfa',
    impersonate: impersonated === '' || impersonated === 'true' || impersonated === undefined ? impersonated !== undefined : impersonated,
  };
}

/** Requirements of an authorization request for the sign-in: `acr_values`, and an essential `acr` of the parameter `claims`. */
export interface RequestedAcr extends AcrValues {
  /** Levels, as the client wrote them, of which the sign-in must reach one. Undefined: no level is required. @see OpenID Connect Core §5.5.1.1 */
  readonly essential?: readonly unknown[];
}

/**
 * Parses `acr_values` and an essential `acr` of `claims`. An essential `acr` that lists `mfa` without `pwd` requires a second factor, as `mfa` in `acr_values`
 * does. oidc-provider drops this `acr` if the request also has `acr_values`. oidc-provider drops `claims` while the feature `claimsParameter` is
 * off.
 * @see OpenID Connect Core §5.5.1.1
 * @example
 * ```ts
 * import { requestedAcr } from 'tenant-idp/extension';
 *
 * console.log(requestedAcr({ claims: '{"id_token":{"acr":{"essential":true,"value":"mfa"}}}' }).mfa); // true
 * ```
 */
export function requestedAcr({ acr_values: acrValues, claims }: Readonly<Record<string, unknown>>): RequestedAcr {
  const acr = parseAcrValues(acrValues as string | undefined);
  const essential = typeof claims === 'string' ? essentialLevels(claims) : undefined;
  if (essential === undefined) return acr;
  const isCondition = essential.includes('mfa') && !essential.includes('pwd');
  return { ...acr, essential, ...(isCondition ? { mfa: true, prefersMfa: false } : {}) };
}

/** Reads nothing from a malformed `claims` parameter, because oidc-provider refuses such a request. */
function essentialLevels(claims: string): readonly unknown[] | undefined {
  let acr: { readonly essential?: unknown; readonly value?: unknown; readonly values?: unknown } | null | undefined;
  try {
    acr = (JSON.parse(claims) as { id_token?: { acr?: typeof acr } } | null)?.id_token?.acr;
  } catch {
    return undefined;
  }
  if (!acr?.essential || (acr.value === undefined && acr.values === undefined)) return undefined;
  const { value, values = [value] } = acr;
  if (!Array.isArray(values)) return [];
  return value === undefined ? values : values.filter((each) => each === value);
}

/**
 * Levels of `acr`, the strongest first. Each level is the member of `amr` that proves it. A sign-in that reached no level has no `acr`, because the level
 * of an external proof (`external`) is unknown.
 * @see OpenID Connect Core §2
 */
const acrLevels: readonly string[] = ['mfa', 'pwd'];

/** Returns the levels that users can reach in this service. */
export const offeredLevels = (hasSecondFactor: boolean): readonly string[] => (hasSecondFactor ? acrLevels : ['pwd']);

/** Returns the levels that satisfy the request. */
export const levelsFor = ({ essential }: RequestedAcr, levels: readonly string[]): readonly string[] =>
  essential === undefined ? levels : levels.filter((level) => essential.includes(level));

export const reachedLevel = (amr: readonly string[] = [], levels: readonly string[] = acrLevels): string | undefined =>
  levels.find((level) => amr.includes(level));

const nothing: AcrValues = { mfa: false, prefersMfa: false, impersonate: false };
