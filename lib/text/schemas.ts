/** Schemas of texts, with the kind of each text. */
import { Kind, type TProperties, Type, TypeRegistry } from '@sinclair/typebox';
import { isEmailAddress, LONGEST_ADDRESS } from './email-address.js';
import type { TextKind } from './kinds.js';

/** The member of a schema that states the kind of a text. Only input is checked by its kind, because a stored text may be older than a rule. */
export const TEXT_KIND = 'x-text';

const textOf = (kind: TextKind, maxLength: number, description?: string) =>
  Type.String({
    minLength: kind === 'personName' ? 0 : 1,
    maxLength,
    pattern: kind === 'text' ? '^[^\\u0000-\\u0009\\u000b-\\u001f\\u007f]*$' : '^[^\\u0000-\\u001f\\u007f]*$',
    [TEXT_KIND]: kind,
    ...(description !== undefined && { description }),
  });

/** Maximum characters of a line of text, unless its schema sets another maximum. */
export const LINE_LENGTH = 200;
/**
 * Returns the schema of one line of text, such as a name of a record or a description.
 * @example
 * ```ts
 * import { line, Type } from 'tenant-idp/extension';
 *
 * export const Room = Type.Object({ name: line(100) }, { additionalProperties: false });
 * ```
 */
export const line = (maxLength = LINE_LENGTH, description?: string) => textOf('line', maxLength, description);
/** Maximum characters of a given name or a surname. */
export const PERSON_NAME_LENGTH = 200;
/** Maximum characters of the name that lists sort persons by: both names and a space, or a user name. */
export const SHOWN_NAME_LENGTH = 2 * PERSON_NAME_LENGTH + 1;
/** Returns the schema of a given name or a surname. A blank name counts as no name, so a blank name is not an error. */
export const personName = () => textOf('personName', PERSON_NAME_LENGTH);
/** Returns the schema of a text of another service or of the caller. The text is compared and returned byte by byte. */
export const opaqueText = (maxLength: number) =>
  Type.String({ minLength: 1, maxLength, pattern: '^[^\\u0000-\\u001f\\u007f]*$', [TEXT_KIND]: 'opaque' });
/** Maximum characters of a user name. */
export const USER_NAME_LENGTH = 256;
export const userNameText = () => textOf('userName', USER_NAME_LENGTH);

/** The kind of schema for an e-mail address. The kind is not a typebox format, because the host may have registered another format under the same name. */
export const ADDRESS = 'e-mail address';
TypeRegistry.Set(ADDRESS, (_schema, value) => typeof value === 'string' && isEmailAddress(value));
export const email = () => Type.Unsafe<string>({ [Kind]: ADDRESS, type: 'string', format: 'idn-email', maxLength: LONGEST_ADDRESS });
/**
 * Returns the schema of a language tag, with at most a script, a region and one variant. `Intl` accepts every such tag. For other tags, `Intl` throws when
 * a mail is written.
 * @see RFC 5646 §2.1
 */
export const languageTag = () =>
  Type.String({
    pattern:
      '^(?:[A-Za-z]{2,3}|[A-Za-z]{5,8})(?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|[0-9]{3}))?(?:-(?:[A-Za-z0-9]{5,8}|[0-9][A-Za-z0-9]{3}))?$',
  });
export const strings = (maxItems?: number) => Type.Array(Type.String(), maxItems === undefined ? {} : { maxItems });
/** Returns the schema of names that are sent in tokens and forms. @see RFC 6749 §3.3, Appendix A.1 */
export const token = (beginning = '') => Type.String({ minLength: 1, maxLength: 200, pattern: `^${beginning}[!#-\\[\\]-~]+$` });
/** Returns the schema of a client secret. @see RFC 6749 Appendix A.2 */
export const secretText = (minLength = 1) => Type.String({ minLength, maxLength: 512, pattern: '^[ -~]+$' });
/** Returns the schema of the address of an image that pages may load: an https URL, or a path of the issuer's origin. */
export const pageImage = () => Type.String({ pattern: '^(https://[^/@\\\\]|/(?![/\\\\]))', maxLength: 2000, [TEXT_KIND]: 'line' });
/** Returns the schema of the address of a link on pages: an http or https URL, or a path of the issuer's origin. */
export const pageLink = () => Type.String({ pattern: '^(https?://[^/@\\\\]|/(?![/\\\\]))', maxLength: 2000, [TEXT_KIND]: 'line' });
/** Returns the schema of the URL of an image that applications load. */
export const pictureUrl = () => Type.String({ pattern: '^https?://', [TEXT_KIND]: 'line' });

/** Returns the schema of an object without other members. */
export const inputSchema = <Properties extends TProperties>(properties: Properties) =>
  Type.Object(properties, { additionalProperties: false } as const);
