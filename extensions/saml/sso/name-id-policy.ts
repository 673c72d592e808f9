/** Choice of the NameID format that answers a request, and the status if no format does. @see SAML Core §3.4.1.1 */
import type { ExtensionContext } from '../../../lib/extension-door.js';
import type { AuthnRequest } from '../messages/inbound.js';
import { nameIdFormatOf, nameIdUris } from '../messages/name-id.js';
import type { Status } from '../messages/status.js';
import { mayShareNames, otherWaysToUniqueNames } from '../service-providers/name-id-uniqueness.js';
import type { NameIdFormat, ServiceProvider } from '../service-providers/records.js';
import { statuses } from './statuses.js';

/** Format by which a request asks for an encrypted NameID. @see SAML Core §8.3 */
const ENCRYPTED = 'urn:oasis:names:tc:SAML:2.0:nameid-format:encrypted';

type Named = Pick<ServiceProvider, 'tid' | 'nameId' | 'entityId' | 'allowedTenants'>;
type Policy = Pick<AuthnRequest, 'nameIdFormat' | 'spNameQualifier'>;

/** Returns the format of the answer, or the status that refuses the request and states what to change. */
export function formatFor(
  serviceProvider: Named,
  { nameIdFormat: requested, spNameQualifier = serviceProvider.entityId }: Policy,
  service: Pick<ExtensionContext, 'records'>,
): NameIdFormat | Status {
  const { nameId, entityId } = serviceProvider;
  if (spNameQualifier !== entityId)
    return statuses.invalidNameIdPolicy(
      'SPNameQualifier names another party, and a service provider gets NameIDs of its own alone. Leave SPNameQualifier out, or send the entityID of the service provider.',
    );
  if (requested === undefined || requested === nameIdUris.unspecified) return nameId.format;
  const format = [nameId.format, 'transient' as const].find((one) => nameIdUris[one] === requested);
  if (format) return format;
  if (requested === ENCRYPTED)
    return statuses.invalidNameIdPolicy(
      'A NameID is never encrypted by itself. Request no format, and set encryption of the service provider, which encrypts the whole assertion.',
    );
  return nameId.ifAnotherIsAsked === 'answer' ? nameId.format : refusalOf(serviceProvider, nameIdFormatOf(requested), service);
}

/** Returns the status for a format that is not registered. @param requested undefined for an unknown format */
function refusalOf(serviceProvider: Named, requested: NameIdFormat | undefined, service: Pick<ExtensionContext, 'records'>) {
  const registered = serviceProvider.nameId.format;
  const always = `Or let it request ${registered} or no format, or set nameId.ifAnotherIsAsked to answer, which answers ${registered} to any request.`;
  if (requested === 'emailAddress' && mayShareNames({ ...serviceProvider, nameId: { format: requested } }, service))
    return statuses.invalidNameIdPolicy(
      `The NameID format emailAddress was requested at the entity of all tenants, where users of two tenants may have the same address, and nameId.format is ${registered}. Set allowedTenants of the service provider and nameId.format to emailAddress; or ${otherWaysToUniqueNames}. ${always}`,
    );
  const change =
    requested === undefined
      ? 'Set nameId.format of the service provider to a format that it takes.'
      : `Set nameId.format of the service provider to ${requested}.`;
  return statuses.invalidNameIdPolicy(
    `The NameID format ${requested ?? 'that was requested'} is not the registered one, which is ${registered}. ${change} ${always}`,
  );
}
