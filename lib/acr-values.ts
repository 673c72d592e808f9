/** `acr_values` of an authorization request: what our names in it mean, parsed in one place. */

export interface AcrValues {
  /** The sign-in method to use. */
  readonly idp?: string;
  /** The tenant the user must belong to: a constraint on every path that mints a token, never a hint. Empty: of none. */
  readonly tenant?: string;
  readonly mfa: boolean;
  /** True, or the user to act as. */
  readonly impersonate: boolean | string;
}

/**
 * Parses space-separated `name:value` pairs; unknown names are ignored. `mfa` and `mfa:<anything but false>` mean the same, likewise `impersonate`.
 * Of a repeated name the first value counts, but what is required by any of them is: `tenant` without a value, or with several, is the empty
 * one, which nobody belongs to.
 * @example
 * ```ts
 * import { parseAcrValues } from 'tenant-idp/extension';
 *
 * export const wantsSecondFactor = (acrValues: string): boolean => parseAcrValues(acrValues).mfa;
 * ```
 */
export function parseAcrValues(text: string | undefined): AcrValues {
  if (!text) return nothing;
  const values = new Map<string, string[]>();
  for (const pair of text.split(' ')) {
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
  return {
    ...(idp ? { idp } : {}),
    ...(tenant === undefined ? {} : { tenant: others.length === 0 ? tenant : '' }),
    mfa: asked('mfa') !== undefined,
    impersonate: impersonated === '' || impersonated === 'true' || impersonated === undefined ? impersonated !== undefined : impersonated,
  };
}

/**
 * Levels of sign-in that `acr` names, the strongest first: each is the member of `amr` that proves it. A sign-in that reached none of them has no
 * `acr`: what somebody else vouched for (`external`) is not known to be any.
 * @see OpenID Connect Core §2
 */
const acrLevels: readonly string[] = ['mfa', 'pwd'];

/** Those that can be reached here. */
export const offeredLevels = (hasSecondFactor: boolean): readonly string[] => (hasSecondFactor ? acrLevels : ['pwd']);

export const reachedLevel = (amr: readonly string[] = [], levels: readonly string[] = acrLevels): string | undefined =>
  levels.find((level) => amr.includes(level));

const nothing: AcrValues = { mfa: false, impersonate: false };
