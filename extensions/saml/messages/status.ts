/** What becomes of a request. @see SAML Core §3.2.2 */
import { tolerantText } from '../xml/write.js';

const PREFIX = 'urn:oasis:names:tc:SAML:2.0:status:';

/** Without the prefix that all have. @see SAML Core §3.2.2.2 */
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
  /** For whoever reads the log of the service provider. */
  readonly message?: string;
}

/** Of a message about nobody who is known, or signed in. */
export const unknownPrincipal: Status = { code: 'Requester', subCode: 'UnknownPrincipal' };

export const statusUri = (code: StatusCode | SubStatusCode): string => PREFIX + code;

/** In a message that declared the namespace of the protocol. */
export function statusElement({ code, subCode, message }: Status): string {
  const below = subCode === undefined ? '' : `<samlp:StatusCode Value="${PREFIX}${subCode}"></samlp:StatusCode>`;
  const said = message === undefined ? '' : `<samlp:StatusMessage>${tolerantText(message)}</samlp:StatusMessage>`;
  return `<samlp:Status><samlp:StatusCode Value="${PREFIX}${code}">${below}</samlp:StatusCode>${said}</samlp:Status>`;
}
