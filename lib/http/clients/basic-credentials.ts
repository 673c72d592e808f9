/** The credentials of HTTP Basic. @see RFC 7617 §2 */

import { decodeBase64 } from '../../text/decode.js';

const pattern = /^basic ([A-Za-z0-9+/]*={0,2})$/i;

/** The id and the secret as they were sent. OAuth form-encodes the id and the secret before it joins them. @see RFC 6749 §2.3.1 */
export interface BasicCredentials {
  readonly id: string;
  readonly secret: string;
}

/** Returns the credentials in an `Authorization` header. Undefined for another scheme, invalid base64 or UTF-8, and no colon. @see RFC 4648 §4 */
export function basicCredentials(authorization: string): BasicCredentials | undefined {
  const [, encoded = ''] = pattern.exec(authorization) ?? [];
  const [, id, secret = ''] = /^([^:]*):(.*)$/s.exec(decodeBase64(encoded) ?? '') ?? [];
  return id === undefined ? undefined : { id, secret };
}
