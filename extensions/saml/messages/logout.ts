/** Logout messages that the service sends. @see SAML Core §3.7 */

import { ns } from '../xml/namespaces.js';
import type { Signer } from '../xml/sign.js';
import { signedElement } from '../xml/sign.js';
import { attribute, instant, issuer, newMessageId, sendable, text } from '../xml/write.js';
import type { NameId } from './inbound.js';
import { nameIdElement } from './name-id.js';
import { type Status, statusElement } from './status.js';

/** Members of both logout messages. Instants are milliseconds since the epoch. */
interface LogoutParts {
  readonly entityId: string;
  readonly destination: string;
  readonly issuedAt: number;
}

export interface LogoutRequestParts extends LogoutParts {
  readonly id: string;
  readonly nameId: NameId;
  readonly sessionIndex: string;
  readonly notOnOrAfter: number;
}

export interface LogoutResponseParts extends LogoutParts {
  /** ID of the message. @default a new ID */
  readonly id?: string;
  readonly inResponseTo: string;
  readonly status: Status;
}

/** Writes a LogoutRequest. @param signer for POST; absent for Redirect, which signs the URL. @throws UnwritableText */
export function logoutRequestXml(parts: LogoutRequestParts, signer?: Signer): string {
  const { id, entityId, destination, issuedAt, nameId, sessionIndex, notOnOrAfter } = parts;
  const head =
    `<samlp:LogoutRequest xmlns:samlp="${ns.samlp}"${attribute('Destination', destination)}${attribute('ID', id)}` +
    ` IssueInstant="${instant(issuedAt)}" NotOnOrAfter="${instant(notOnOrAfter)}" Version="2.0">${issuer(entityId)}`;
  const tail = `${nameIdElement(nameId, true)}<samlp:SessionIndex>${text(sessionIndex)}</samlp:SessionIndex></samlp:LogoutRequest>`;
  return sendable(signer ? signedElement(head, tail, id, signer) : head + tail);
}

/** Writes a LogoutResponse. @param signer for POST; absent for Redirect, which signs the URL. @throws UnwritableText */
export function logoutResponseXml(parts: LogoutResponseParts, signer?: Signer): string {
  const { id = newMessageId(), entityId, destination, issuedAt, inResponseTo, status } = parts;
  const head =
    `<samlp:LogoutResponse xmlns:samlp="${ns.samlp}"${attribute('Destination', destination)}${attribute('ID', id)}` +
    `${attribute('InResponseTo', inResponseTo)} IssueInstant="${instant(issuedAt)}" Version="2.0">${issuer(entityId)}`;
  const tail = `${statusElement(status)}</samlp:LogoutResponse>`;
  return sendable(signer ? signedElement(head, tail, id, signer) : head + tail);
}
