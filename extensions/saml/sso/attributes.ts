/** Attributes of an assertion: the claims that the service provider is registered for, and no others. */

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

/** An empty value would be a name or a group without letters to a service provider. */
const isSaid = (value: unknown): boolean => value !== undefined && value !== null && value !== '';
const written = (value: unknown): string => (typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value));
