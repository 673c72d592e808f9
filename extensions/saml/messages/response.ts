/** Responses to requests to sign somebody in, and those that nobody asked for. @see SAML Core §3.3.3, SAML Profiles §4.1.4.2 */

import type { ServiceProviderFields } from '../service-providers/records.js';
import { encryptedAssertion } from '../xml/encrypt.js';
import { ns } from '../xml/namespaces.js';
import type { Signer } from '../xml/sign.js';
import { signedElement } from '../xml/sign.js';
import { attribute, instant, issuer, newMessageId, sendable, text, tolerantText } from '../xml/write.js';
import type { NameId } from './inbound.js';
import { nameIdElement } from './name-id.js';
import { type Status, statusElement } from './status.js';

export interface ReleasedAttribute {
  readonly name: string;
  /** @default 'uri' where the name is a URI, else 'basic' */
  readonly format?: 'uri' | 'basic' | 'unspecified';
  readonly friendlyName?: string;
  readonly values: readonly string[];
}

/** Instants are milliseconds since the epoch. */
export interface Assertion {
  readonly nameId: NameId;
  /** The entityID of the service provider. */
  readonly audience: string;
  readonly sessionIndex: string;
  readonly authnInstant: number;
  readonly sessionNotOnOrAfter?: number;
  readonly authnContextClassRef: string;
  readonly attributes: readonly ReleasedAttribute[];
  readonly notBefore: number;
  readonly notOnOrAfter: number;
}

export interface ResponseParts {
  /** @default a new one */
  readonly id?: string;
  /** Of the entity that answers. */
  readonly entityId: string;
  /** The URL of the assertion consumer service. */
  readonly destination: string;
  /** The ID of the request; absent where there was none. */
  readonly inResponseTo?: string;
  /** Milliseconds since the epoch. */
  readonly issuedAt: number;
  readonly status: Status;
  /** Of a success alone. */
  readonly assertion?: Assertion;
}

export interface ResponsePolicy {
  readonly signer: Signer;
  readonly serviceProvider: Pick<ServiceProviderFields, 'signAssertion' | 'signResponse' | 'encryption' | 'encryptionCertificate'>;
}

/**
 * The response as it is sent. Something of it is always signed: the message, where it has no assertion; the assertion, where the service provider asks for
 * neither. An assertion is encrypted after it was signed, and before the message is.
 * @throws UnwritableText where a NameID or a URI has a character that XML cannot carry.
 */
export function responseXml(parts: ResponseParts, { signer, serviceProvider }: ResponsePolicy): string {
  const { id = newMessageId(), entityId, destination, inResponseTo, issuedAt, status, assertion } = parts;
  const { signAssertion, signResponse, encryption, encryptionCertificate } = serviceProvider;
  const head =
    `<samlp:Response xmlns:samlp="${ns.samlp}"${attribute('Destination', destination)}${attribute('ID', id)}` +
    `${attribute('InResponseTo', inResponseTo)} IssueInstant="${instant(issuedAt)}" Version="2.0">${issuer(entityId)}`;
  let content = '';
  if (assertion) {
    const isSigned = signAssertion || !signResponse;
    content = assertionXml(assertion, parts, isSigned ? signer : undefined);
    if (encryption !== 'none') content = encryptedAssertion(sendable(content), encryption, encryptionCertificate);
  }
  const tail = `${statusElement(status)}${content}</samlp:Response>`;
  return sendable(signResponse || !assertion ? signedElement(head, tail, id, signer) : head + tail);
}

/** An assertion that stands alone: all namespaces that it uses are declared in it. @see SAML Core §2.3.3 */
function assertionXml(assertion: Assertion, { entityId, destination, inResponseTo, issuedAt }: ResponseParts, signer?: Signer): string {
  const { nameId, audience, sessionIndex, authnInstant, sessionNotOnOrAfter, authnContextClassRef } = assertion;
  const id = newMessageId();
  const until = instant(assertion.notOnOrAfter);
  const sessionEnd = sessionNotOnOrAfter === undefined ? '' : ` SessionNotOnOrAfter="${instant(sessionNotOnOrAfter)}"`;
  const head =
    `<saml:Assertion xmlns:saml="${ns.saml}" ID="${id}" IssueInstant="${instant(issuedAt)}" Version="2.0">` +
    `<saml:Issuer>${text(entityId)}</saml:Issuer>`;
  const tail =
    `<saml:Subject>${nameIdElement(nameId, false)}<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">` +
    `<saml:SubjectConfirmationData${attribute('InResponseTo', inResponseTo)} NotOnOrAfter="${until}"${attribute('Recipient', destination)}>` +
    `</saml:SubjectConfirmationData></saml:SubjectConfirmation></saml:Subject>` +
    `<saml:Conditions NotBefore="${instant(assertion.notBefore)}" NotOnOrAfter="${until}"><saml:AudienceRestriction>` +
    `<saml:Audience>${text(audience)}</saml:Audience></saml:AudienceRestriction></saml:Conditions>` +
    `<saml:AuthnStatement AuthnInstant="${instant(authnInstant)}"${attribute('SessionIndex', sessionIndex)}${sessionEnd}>` +
    `<saml:AuthnContext><saml:AuthnContextClassRef>${text(authnContextClassRef)}</saml:AuthnContextClassRef></saml:AuthnContext>` +
    `</saml:AuthnStatement>${attributeStatement(assertion.attributes)}</saml:Assertion>`;
  return signer ? signedElement(head, tail, id, signer) : head + tail;
}

/** @see SAML Core §2.7.3, where a statement has at least one attribute */
function attributeStatement(attributes: readonly ReleasedAttribute[]): string {
  if (attributes.length === 0) return '';
  let written = '<saml:AttributeStatement>';
  for (const { name, format, friendlyName, values } of attributes) {
    const nameFormat = format ?? (/^[a-z][a-z0-9+.-]*:./i.test(name) ? 'uri' : 'basic');
    written +=
      `<saml:Attribute${attribute('FriendlyName', friendlyName)}${attribute('Name', name)}` +
      ` NameFormat="urn:oasis:names:tc:SAML:2.0:attrname-format:${nameFormat}">`;
    // Without `xsi:type`, because a prefix within a value would need a declaration that exclusive canonicalization leaves out.
    for (const value of values) written += `<saml:AttributeValue>${tolerantText(value)}</saml:AttributeValue>`;
    written += '</saml:Attribute>';
  }
  return `${written}</saml:AttributeStatement>`;
}
