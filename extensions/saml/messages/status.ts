/** Status of a Response or LogoutResponse. @see SAML Core §3.2.2 */
import { tolerantText } from '../xml/write.js';

const PREFIX = 'urn:oasis:names:tc:SAML:2.0:status:';

/** Status codes without their common prefix. @see SAML Core §3.2.2.2 */
export type StatusCode = 'Success' | 'Requester' | 'Responder' | 'VersionMismatch';
export type SubStatusCode =
  | 'AuthnFailed'
  | 'InvalidAttrNameOrValue'
  | 'InvalidNameIDPolicy'
  | 'NoAuthnContext'
  | 'NoAvailableIDP'
  | 'NoPassive'
  | 'NoSupportedIDP'
  | 'PartialLogout'
  | 'RequestDenied'
  | 'RequestUnsupported'
  | 'UnknownPrincipal'
  | 'UnsupportedBinding';

export interface Status {
  readonly code: StatusCode;
  readonly subCode?: SubStatusCode;
  /** Text for the log of the service provider. */
  readonly message?: string;
}

/** Status for a message about an unknown user, or about a user who is not signed in. */
export const unknownPrincipal: Status = { code: 'Requester', subCode: 'UnknownPrincipal' };

export const statusUri = (code: StatusCode | SubStatusCode): string => PREFIX + code;

/** Writes the status. The message around it declares the namespace of the protocol. */
export function statusElement({ code, subCode, message }: Status): string {
  const below = subCode === undefined ? '' : `<samlp:StatusCode Value="${PREFIX}${subCode}"></samlp:StatusCode>`;
  const said = message === undefined ? '' : `<samlp:StatusMessage>${tolerantText(message)}</samlp:StatusMessage>`;
  return `<samlp:Status><samlp:StatusCode Value="${PREFIX}${code}">${below}</samlp:StatusCode>${said}</samlp:Status>`;
}
