/** What a service provider calls a user, as messages say it. @see SAML Core §2.2.3 */

import type { NameIdFormat } from '../service-providers/records.js';
import { ns } from '../xml/namespaces.js';
import { attribute, text } from '../xml/write.js';
import type { NameId } from './inbound.js';

/** @see SAML Core §8.3 */
export const nameIdUris: Readonly<Record<NameIdFormat, string>> = {
  persistent: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  transient: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient',
  emailAddress: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
  unspecified: 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
};

/** Whether the one from outside names the same, as far as it says. @param ours as it was sent */
export function isSameNameId({ value, format = nameIdUris.unspecified, nameQualifier, spNameQualifier }: NameId, ours: NameId): boolean {
  if (value !== ours.value || (format !== nameIdUris.unspecified && format !== ours.format)) return false;
  return (
    (nameQualifier === undefined || nameQualifier === ours.nameQualifier) &&
    (spNameQualifier === undefined || spNameQualifier === ours.spNameQualifier)
  );
}

/** @param declares whether the element declares its namespace: where no element around it did. @throws UnwritableText */
export const nameIdElement = ({ value, format, nameQualifier, spNameQualifier }: NameId, declares: boolean): string =>
  `<saml:NameID${declares ? ` xmlns:saml="${ns.saml}"` : ''}${attribute('Format', format)}${attribute('NameQualifier', nameQualifier)}${attribute('SPNameQualifier', spNameQualifier)}>${text(value)}</saml:NameID>`;
