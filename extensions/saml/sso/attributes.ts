/** Attributes of an assertion: only the claims that are registered for the service provider. */

import type { BrowserSignIn, ExtensionContext } from '../../../lib/extension-door.js';
import { ownMember } from '../../../lib/extension-door.js';
import type { ReleasedAttribute } from '../messages/response.js';
import { clientIdOf, type ServiceProvider } from '../service-providers/records.js';

/** @throws UnavailableError `claims_unavailable` */
export async function releasedAttributes(
  { claims }: Pick<ExtensionContext, 'claims'>,
  serviceProvider: ServiceProvider,
  signedIn: BrowserSignIn,
): Promise<readonly ReleasedAttribute[]> {
  const { attributes } = serviceProvider;
  if (attributes.length === 0) return [];
  const names = new Set(attributes.map(({ claim }) => claim));
  const { amr, idp } = signedIn;
  const claimValues: Readonly<Record<string, unknown>> = {
    ...(await claims.named(signedIn.account, names, 'saml', clientIdOf(serviceProvider), signedIn)),
    amr,
    idp,
  };
  return attributes.flatMap(({ claim, ...attribute }) => {
    const values = [ownMember(claimValues, claim)].flat().filter(isSaid).map(written);
    return values.length === 0 ? [] : [{ ...attribute, values }];
  });
}

/** Returns whether a value is released. A service provider would read an empty value as an empty name or group. */
const isSaid = (value: unknown): boolean => value !== undefined && value !== null && value !== '';
const written = (value: unknown): string => (typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value));
