/** The credentials of HTTP Basic. @see RFC 7617 §2 */

const pattern = /^basic ([A-Za-z0-9+/]*)(={0,2})$/i;

/** Both as they were sent: OAuth form-encodes each before they are joined. @see RFC 6749 §2.3.1 */
export interface BasicCredentials {
  readonly id: string;
  readonly secret: string;
}

/** The credentials in an `Authorization` header; undefined when it is another scheme's, its base64 is wrong, or it has no colon. @see RFC 4648 §4 */
export function basicCredentials(authorization: string): BasicCredentials | undefined {
  const [, digits = '', padding = ''] = pattern.exec(authorization) ?? [];
  const isWhole = padding === '' ? digits.length % 4 !== 1 : digits.length % 4 > 1 && (digits.length + padding.length) % 4 === 0;
  if (!isWhole) return undefined;
  const [, id, secret = ''] = /^([^:]*):(.*)$/s.exec(Buffer.from(digits, 'base64').toString()) ?? [];
  return id === undefined ? undefined : { id, secret };
}
