/** Returns the bytes of a text in padded base64; undefined for any other text. `Buffer` alone accepts any text. @see RFC 4648 §4 */
export const decodedBase64 = (text: string): Buffer | undefined =>
  text.length > 0 && text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined;

/** Removes the line breaks that base64 may have outside of URLs. @see RFC 2045 §6.8 */
export const withoutSpace = (text: string): string => text.replace(/[ \t\r\n]/g, '');
