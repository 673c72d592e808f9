/** Choice of the URL that gets the Response. Only a registered URL can be chosen. */

import type { AuthnRequest } from '../messages/inbound.js';
import { RefusedMessage } from '../messages/refused.js';
import type { ServiceProvider } from '../service-providers/records.js';

export type AssertionConsumerService = ServiceProvider['assertionConsumerServices'][number];

/**
 * Returns the assertion consumer service that a request names, compared byte for byte, or the default service.
 * @throws RefusedMessage `acs_not_registered`
 * @see SAML Core §3.4.1, SAML Profiles §4.1.4.1
 */
export function acsOf(
  { assertionConsumerServices: all }: Pick<ServiceProvider, 'assertionConsumerServices'>,
  { acsUrl, acsIndex }: Pick<AuthnRequest, 'acsUrl' | 'acsIndex'> = {},
): AssertionConsumerService {
  const acs =
    acsUrl !== undefined
      ? all.find(({ url }) => url === acsUrl)
      : acsIndex !== undefined
        ? all.find(({ index }) => index === acsIndex)
        : // Without `isDefault="true"`, the first service that does not say `isDefault="false"` is the default. @see SAML Metadata §2.4.4
          (all.find(({ isDefault }) => isDefault) ?? all.find(({ isDefault }) => isDefault === undefined) ?? all[0]);
  if (acs) return acs;
  const isByUrl = acsUrl !== undefined;
  const expected = `one of ${all.map(({ url, index }) => (isByUrl ? url : index)).join(', ')}`;
  throw new RefusedMessage('acs_not_registered', {
    place: isByUrl ? 'AssertionConsumerServiceURL' : 'AssertionConsumerServiceIndex',
    mismatch: { received: acsUrl ?? acsIndex, expected },
  });
}
