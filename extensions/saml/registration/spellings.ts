/** Other spellings that administrators use: URIs of SAML instead of names of this service, and white space around addresses. */
import { ownMember } from '../../../lib/extension-door.js';
import { bindingOf } from '../messages/inbound.js';
import { nameIdFormatOf } from '../messages/name-id.js';

/** Returns a text in the spelling of the schema. Undefined if the text has no meaning, or several meanings. */
type Respell = (text: string) => string | undefined;
interface Spellings {
  readonly [member: string]: Respell | Spellings;
}

const trimmed: Respell = (text) => text.trim();
/** Returns the name of a format of attribute names. @see SAML Core §8.2 */
const attributeFormat: Respell = (text) =>
  /^(?:urn:oasis:names:tc:SAML:2\.0:attrname-format:)?(uri|basic|unspecified)$/i.exec(text.trim())?.[1]?.toLowerCase();

const bodySpellings: Spellings = {
  entityId: trimmed,
  metadataUrl: trimmed,
  assertionConsumerServices: { url: trimmed },
  singleLogoutServices: { binding: bindingOf, url: trimmed, responseUrl: trimmed },
  nameId: { format: nameIdFormatOf },
  attributes: { format: attributeFormat },
};

/** Returns the body with the names and addresses that its schema expects. A text without exactly one meaning stays, so that the schema refuses it. */
export const respelled = (body: unknown): unknown => within(body, bodySpellings);

function within(value: unknown, spellings: Spellings): unknown {
  if (Array.isArray(value)) return value.map((one) => within(one, spellings));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]: [string, unknown]) => {
      const respell = ownMember(spellings, name);
      if (typeof respell !== 'function') return [name, respell ? within(member, respell) : member];
      return [name, typeof member === 'string' ? (respell(member) ?? member) : member];
    }),
  );
}
