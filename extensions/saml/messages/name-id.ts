/** @see SAML Core §2.2.3 */
import { attribute, namespaces, text } from '../xml/write.js';
import type { NameId } from './inbound.js';

/** @param declares whether the element declares its namespace: where no element around it did. @throws UnwritableText */
export const nameIdElement = ({ value, format, nameQualifier, spNameQualifier }: NameId, declares: boolean): string =>
  `<saml:NameID${declares ? ` xmlns:saml="${namespaces.assertion}"` : ''}${attribute('Format', format)}${attribute('NameQualifier', nameQualifier)}${attribute('SPNameQualifier', spNameQualifier)}>${text(value)}</saml:NameID>`;
