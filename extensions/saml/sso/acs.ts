/** Where a response goes: to a place that is registered, and to no other. */

import type { AuthnRequest } from '../messages/inbound.js';
import { RefusedMessage } from '../messages/refused.js';
import type { ServiceProvider } from '../service-providers/records.js';

export type AssertionConsumerService = ServiceProvider['assertionConsumerServices'][number];

/**
 * The place that a request names, byte for byte, else the default.
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
        : // The first that may be the default is it, where none says so. @see SAML Metadata §2.4.4
          (all.find(({ isDefault }) => isDefault) ?? all.find(({ isDefault }) => isDefault === undefined) ?? all[0]);
  if (acs) return acs;
  const isByUrl = acsUrl !== undefined;
  const expected = `one of ${all.map(({ url, index }) => (isByUrl ? url : index)).join(', ')}`;
  throw new RefusedMessage('acs_not_registered', {
    place: isByUrl ? 'AssertionConsumerServiceURL' : 'AssertionConsumerServiceIndex',
    mismatch: { received: acsUrl ?? acsIndex, expected },
  });
}
