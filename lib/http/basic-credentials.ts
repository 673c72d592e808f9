/** What HTTP Basic carries, before it is taken apart. @see RFC 7617 §2 */

const pattern = /^basic ([A-Za-z0-9+/]*)(={0,2})$/i;

/** The text of an `Authorization` header; undefined when it is another scheme's, or its base64 is wrong. @see RFC 4648 §4 */
export function basicText(authorization: string, encoding: 'utf8' | 'latin1' = 'utf8'): string | undefined {
  const [, digits = '', padding = ''] = pattern.exec(authorization) ?? [];
  const isWhole = padding === '' ? digits.length % 4 !== 1 : digits.length % 4 > 1 && (digits.length + padding.length) % 4 === 0;
  return digits !== '' && isWhole ? Buffer.from(digits, 'base64').toString(encoding) : undefined;
}
