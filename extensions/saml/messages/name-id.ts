/** NameIDs in messages. @see SAML Core §2.2.3 */

import type { NameIdFormat, ServiceProvider } from '../service-providers/records.js';
import { ns } from '../xml/namespaces.js';
import { attribute, text } from '../xml/write.js';
import type { NameId } from './inbound.js';

/** URIs of the formats. @see SAML Core §8.3 */
export const nameIdUris: Readonly<Record<NameIdFormat, string>> = {
  persistent: 'urn:oasis:names:tc:SAML:2.0:nameid-format:persistent',
  transient: 'urn:oasis:names:tc:SAML:2.0:nameid-format:transient',
  emailAddress: 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress',
  unspecified: 'urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified',
};

const formatUri = /^(?:urn:oasis:names:tc:SAML:(?:1\.[01]|2\.0):nameid-format:)?(persistent|transient|emailAddress|unspecified)$/i;
const formatsByName: ReadonlyMap<string, NameIdFormat> = new Map(
  (Object.keys(nameIdUris) as NameIdFormat[]).map((format) => [format.toLowerCase(), format]),
);

/** Returns the format of a URI. Accepts any case, and the version of another format, because each name has only one meaning. */
export const nameIdFormatOf = (uri: string): NameIdFormat | undefined =>
  formatsByName.get(formatUri.exec(uri.trim())?.[1]?.toLowerCase() ?? '');

/** Returns the URI of SAML Core for another spelling of a known format. Returns every other URI unchanged. */
export function nameIdUri<Uri extends string | undefined>(uri: Uri): Uri | string {
  const format = nameIdFormatOf(uri ?? '');
  return format === undefined ? uri : nameIdUris[format];
}

/**
 * Returns whether a received NameID names the same user. Qualifiers that the message does not have are not compared. A service provider that requested one
 * format and got another format may keep the requested format in its messages.
 * @param ours the NameID that was sent
 */
export function isSameNameId(
  { nameId: { ifAnotherIsAsked } }: Pick<ServiceProvider, 'nameId'>,
  { value, format = nameIdUris.unspecified, nameQualifier, spNameQualifier }: NameId,
  ours: NameId,
): boolean {
  const isAnyFormat = format === nameIdUris.unspecified || ifAnotherIsAsked === 'answer';
  if (value !== ours.value || (!isAnyFormat && format !== ours.format)) return false;
  return (
    (nameQualifier === undefined || nameQualifier === ours.nameQualifier) &&
    (spNameQualifier === undefined || spNameQualifier === ours.spNameQualifier)
  );
}

/** Writes a NameID. @param declares whether the element declares its namespace, because no element around it does. @throws UnwritableText */
export const nameIdElement = ({ value, format, nameQualifier, spNameQualifier }: NameId, declares: boolean): string =>
  `<saml:NameID${declares ? ` xmlns:saml="${ns.saml}"` : ''}${attribute('Format', format)}${attribute('NameQualifier', nameQualifier)}${attribute('SPNameQualifier', spNameQualifier)}>${text(value)}</saml:NameID>`;
