/** `acr_values` of an authorization request: what our names in it mean, parsed in one place. */

export interface AcrValues {
  /** The sign-in method to use. */
  readonly idp?: string;
  /** The tenant the user must belong to: a constraint on every path that mints a token, never a hint. */
  readonly tenant?: string;
  readonly mfa: boolean;
  /** True, or the user to act as. */
  readonly impersonate: boolean | string;
}

/**
 * Parses space-separated `name:value` pairs. `mfa` and `mfa:<anything but false>` mean the same, likewise `impersonate`; of a repeated name the
 * first counts; unknown names are ignored.
 */
export function parseAcrValues(text: string | undefined): AcrValues {
  if (!text) return nothing;
  const values = new Map<string, string>();
  for (const pair of text.split(' ')) {
    const colon = pair.indexOf(':');
    const name = colon === -1 ? pair : pair.slice(0, colon);
    if (!values.has(name)) values.set(name, colon === -1 ? '' : pair.slice(colon + 1));
  }
  const idp = values.get('idp');
  const tenant = values.get('tenant');
  const flag = (name: string) => values.has(name) && values.get(name) !== 'false';
  const impersonated = values.get('impersonate');
  return {
    ...(idp ? { idp } : {}),
    ...(tenant ? { tenant } : {}),
    mfa: flag('mfa'),
    impersonate: flag('impersonate') && impersonated && impersonated !== 'true' ? impersonated : flag('impersonate'),
  };
}

const nothing: AcrValues = { mfa: false, impersonate: false };
