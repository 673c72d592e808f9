/**
 * Readers of messages: from parsed XML to data. `authn-request` and `logout` read one protocol each. `message` reads the common parts: ID, issuer, instant
 * and destination.
 *
 * The readers refuse messages that do not match the schema. `front-door/` checks signatures, times, replays and addresses. `xml/` parses XML.
 * @see SAML Core §3.2.1, §3.2.2
 */

import { present } from '../../../lib/extension-door.js';
import type { InboundMessage, NameId } from '../messages/inbound.js';
import { nameIdUri } from '../messages/name-id.js';
import { RefusedMessage } from '../messages/refused.js';
import { attribute, isNamed, one, required, requiredAttribute, textOf } from '../xml/elements.js';
import { MalformedXml } from '../xml/malformed.js';
import { ns } from '../xml/namespaces.js';
import { instantAttribute } from '../xml/values.js';

export type Kind = InboundMessage['kind'];
const kinds: readonly Kind[] = ['AuthnRequest', 'LogoutRequest', 'LogoutResponse'];

/** A message, with the members that only the front door needs. */
export interface ReadMessage<Message extends InboundMessage = InboundMessage> {
  readonly message: Message;
  readonly destination?: string;
  /** Milliseconds since the epoch. */
  readonly notOnOrAfter?: number;
}

/** Bytes of a name or a URI, at most. Anybody can send an unsigned request, so stored parts of a message are bounded. */
const MOST_BYTES = 1024;

/** Checks the length of a text. @throws MalformedXml `xml_structure` for a text that is too long */
export function short<Value extends string | undefined>(value: Value, place: string): Value {
  if (value !== undefined && Buffer.byteLength(value) > MOST_BYTES) throw new MalformedXml('xml_structure', place);
  return value;
}

/** Returns the kind of a message. @throws RefusedMessage `message_kind` */
export function kindOf(root: Element): Kind {
  const kind = kinds.find((name) => isNamed(root, ns.samlp, name));
  if (!kind) throw new RefusedMessage('message_kind');
  return kind;
}

const ENTITY = 'urn:oasis:names:tc:SAML:2.0:nameid-format:entity';

/** Elements at the start of every message, in this order. @see SAML Core §3.2.1, §3.2.2 */
export const headElements = [
  [ns.saml, 'Issuer'],
  [ns.ds, 'Signature'],
  [ns.samlp, 'Extensions'],
] as const;

/** Returns the entityID of the issuer. @see SAML Profiles §4.1.4.1, §4.4.4.1 */
export function issuerOf(root: Element): string {
  const issuer = required(root, ns.saml, 'Issuer');
  if ((attribute(issuer, 'Format') ?? ENTITY) !== ENTITY) throw new MalformedXml('xml_structure', 'Issuer');
  return textOf(issuer);
}

export function headOf(
  root: Element,
): { readonly id: string; readonly issuer: string; readonly issuedAt: number } & Pick<ReadMessage, 'destination'> {
  if (attribute(root, 'Version') !== '2.0') throw new RefusedMessage('version');
  const id = idAttribute(root, 'ID');
  const issuedAt = instantAttribute(root, 'IssueInstant');
  if (issuedAt === undefined) throw new MalformedXml('xml_structure', 'IssueInstant');
  const destination = short(attribute(root, 'Destination'), 'Destination');
  return { id, issuer: issuerOf(root), issuedAt, ...present({ destination }) };
}

/** Returns the ID of a message, a name without a colon. @see SAML Core §1.3.4 */
export function idAttribute(root: Element, name: string): string {
  const id = requiredAttribute(root, name);
  if (!/^[A-Za-z_][\w.-]{0,255}$/.test(id)) throw new RefusedMessage('message_id', { place: name });
  return id;
}

/** Returns the only `NameID` among the children of an element. @throws RefusedMessage if the user is named by another element */
export function nameIdOf(parent: Element): NameId | undefined {
  if (one(parent, ns.saml, 'BaseID') || one(parent, ns.saml, 'EncryptedID')) throw new RefusedMessage('encrypted_id_unsupported');
  const element = one(parent, ns.saml, 'NameID');
  if (!element) return undefined;
  const format = nameIdUri(short(attribute(element, 'Format'), 'Format'));
  const nameQualifier = short(attribute(element, 'NameQualifier'), 'NameQualifier');
  const spNameQualifier = short(attribute(element, 'SPNameQualifier'), 'SPNameQualifier');
  return {
    value: short(textOf(element), 'NameID'),
    ...present({ format, nameQualifier, spNameQualifier }),
  };
}
