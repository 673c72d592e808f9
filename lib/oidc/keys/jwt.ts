import type { SigningKey } from './keys.js';

/** Claims with the same meaning in every JWT. @see RFC 7519 §4.1 */
export const registeredClaims: ReadonlySet<string> = new Set(['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti']);

/** Returns a signed JWT in compact serialisation. @param typ explicit type of the JWT; ID tokens have none. @see RFC 7515 §7.1, RFC 8725 §3.11 */
export async function signedJwt({ alg, kid, sign }: SigningKey, typ: string | undefined, payload: object): Promise<string> {
  const input = `${encoded({ alg, typ, kid })}.${encoded(payload)}`;
  return `${input}.${(await sign(Buffer.from(input))).toString('base64url')}`;
}

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
