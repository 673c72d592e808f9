/** What a service provider calls a user, as messages say it. @see SAML Core §2.2.3 */

import type { NameIdFormat, ServiceProvider } from '../service-providers/records.js';
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

const formatUri = /^(?:urn:oasis:names:tc:SAML:(?:1\.[01]|2\.0):nameid-format:)?(persistent|transient|emailAddress|unspecified)$/i;
const formatsByName: ReadonlyMap<string, NameIdFormat> = new Map(
  (Object.keys(nameIdUris) as NameIdFormat[]).map((format) => [format.toLowerCase(), format]),
);

/** Returns the format that a URI names. Accepts names with the version of another format or in other case, because each has only one meaning. */
export const nameIdFormatOf = (uri: string): NameIdFormat | undefined =>
  formatsByName.get(formatUri.exec(uri.trim())?.[1]?.toLowerCase() ?? '');

/** Returns the URI of SAML Core for another spelling of a known format, and every other URI unchanged. */
export function nameIdUri<Uri extends string | undefined>(uri: Uri): Uri | string {
  const format = nameIdFormatOf(uri ?? '');
  return format === undefined ? uri : nameIdUris[format];
}

/**
 * Whether a received NameID names the same user, by the parts that it has. A service provider that requested one format and got another may keep naming the
 * requested format.
 * @param ours as it was sent
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

/** @param declares whether the element declares its namespace: where no element around it did. @throws UnwritableText */
export const nameIdElement = ({ value, format, nameQualifier, spNameQualifier }: NameId, declares: boolean): string =>
  `<saml:NameID${declares ? ` xmlns:saml="${ns.saml}"` : ''}${attribute('Format', format)}${attribute('NameQualifier', nameQualifier)}${attribute('SPNameQualifier', spNameQualifier)}>${text(value)}</saml:NameID>`;
