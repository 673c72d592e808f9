/** Responses, with and without a request. @see SAML Core §3.3.3, SAML Profiles §4.1.4.2 */

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
  /** Format of the name. @default 'uri' if the name is a URI, else 'basic' */
  readonly format?: 'uri' | 'basic' | 'unspecified';
  readonly friendlyName?: string;
  readonly values: readonly string[];
}

/** Content of an assertion. Instants are milliseconds since the epoch. */
export interface Assertion {
  readonly nameId: NameId;
  /** entityID of the service provider. */
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
  /** ID of the Response. @default a new ID */
  readonly id?: string;
  /** entityID of the entity that answers. */
  readonly entityId: string;
  /** URL of the assertion consumer service. */
  readonly destination: string;
  /** ID of the AuthnRequest; absent without an AuthnRequest. */
  readonly inResponseTo?: string;
  /** Milliseconds since the epoch. */
  readonly issuedAt: number;
  readonly status: Status;
  /** Assertion of a successful sign-in. */
  readonly assertion?: Assertion;
}

export interface ResponsePolicy {
  readonly signer: Signer;
  readonly serviceProvider: Pick<ServiceProviderFields, 'signAssertion' | 'signResponse' | 'encryption' | 'encryptionCertificate'>;
}

/**
 * Writes a Response. At least one part is always signed. The Response is signed if it has no assertion, or if the service provider wants that. The
 * assertion is signed if the service provider wants that, or wants neither signature. An assertion is signed first, and then encrypted. The Response is
 * signed last.
 * @throws UnwritableText if a NameID or a URI has a character that XML forbids
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

/** Writes an assertion that declares all its namespaces, so that it can be read alone. @see SAML Core §2.3.3 */
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

/** Writes the attributes. A statement must have at least one attribute. @see SAML Core §2.7.3 */
function attributeStatement(attributes: readonly ReleasedAttribute[]): string {
  if (attributes.length === 0) return '';
  let written = '<saml:AttributeStatement>';
  for (const { name, format, friendlyName, values } of attributes) {
    const nameFormat = format ?? (/^[a-z][a-z0-9+.-]*:./i.test(name) ? 'uri' : 'basic');
    written +=
      `<saml:Attribute${attribute('FriendlyName', friendlyName)}${attribute('Name', name)}` +
      ` NameFormat="urn:oasis:names:tc:SAML:2.0:attrname-format:${nameFormat}">`;
    // Values have no `xsi:type`. The value of `xsi:type` has a prefix, and exclusive canonicalization omits the declaration of a prefix that only a value
    // uses.
    for (const value of values) written += `<saml:AttributeValue>${tolerantText(value)}</saml:AttributeValue>`;
    written += '</saml:Attribute>';
  }
  return `${written}</saml:AttributeStatement>`;
}
