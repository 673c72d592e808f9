/** Checks of single values. Each check returns the expected form, or undefined for a valid value. */
import * as crypto from 'node:crypto';
import type { JWK } from 'jose';
import { isScope, SCOPE_OR_FALSE } from '../claims/checks.js';
import { expectedAccent } from '../display/contrast.js';
import { canParseUrl } from '../text/can-parse-url.js';
import { IMAGE_ADDRESS, isImageAddress } from '../text/image-address.js';
import { isLinkAddress, LINK_ADDRESS } from '../text/link-address.js';

export type ValueCheck = (value: unknown) => string | undefined;

/** Expected form of an issuer. */
export const ISSUER = "an absolute http(s) URL, such as 'https://id.example'";

/** @see OpenID Connect Discovery §3 */
export const checkIssuer: ValueCheck = (value) => {
  const url = typeof value === 'string' && canParseUrl(value) ? new URL(value) : undefined;
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return ISSUER;
  if (url.username !== '' || url.password !== '') return "a URL without user name and password, such as 'https://id.example'";
  // An empty query or fragment leaves no trace in the parsed URL.
  if (/[?#]/.test(value as string)) return "a URL without query and fragment, such as 'https://id.example'";
  if (url.href.replace(/\/$/, '') === value) return undefined;
  const normal = JSON.stringify(url.href.replace(/\/$/, ''));
  return (value as string).endsWith('/') ? `a URL without trailing slash, ${normal}` : `the URL in its normal form, ${normal}`;
};

/** Paths that standards and the service specification reserve. */
const takenPaths = ['/connect', '/.well-known'];

export const checkOwnPath: ValueCheck = (value) => {
  if (typeof value !== 'string' || !/^(\/(?!\.{1,2}(\/|$))[\w.~-]+)+$/.test(value)) {
    return "a path such as '/idp': a leading slash, no trailing one, only letters, digits and - . _ ~";
  }
  return takenPaths.some((taken) => `${value}/`.startsWith(`${taken}/`))
    ? `a path outside ${takenPaths.join(' and ')}, such as '/idp'`
    : undefined;
};

export const checkTenantId: ValueCheck = (value) =>
  typeof value === 'string' && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(value)
    ? undefined
    : "the id of a tenant, a UUID in lower case, such as '5f0c8a4e-2b1d-4c3e-9f6a-7d8e9f0a1b2c'";

/** Checks a permission id as the catalogue of permissions does. */
export const checkPermissionId: ValueCheck = (value) =>
  typeof value === 'string' && /^[!#-[\]-~]{1,200}$/.test(value) ? undefined : 'the id of a permission: 1 to 200 printable characters';

export const checkTrustProxy: ValueCheck = (value) =>
  typeof value === 'boolean' || typeof value === 'function' || (Number.isInteger(value) && Number(value) >= 0)
    ? undefined
    : 'true, false, the number of proxies in front, or a function that returns the address: (request) => …';

export const checkAccent: ValueCheck = (value) =>
  typeof value === 'string' && /^#[\da-f]{6}$/i.test(value) ? expectedAccent(value) : "a colour as #rrggbb, such as '#0a5c36'";

export const checkImage: ValueCheck = (value) => (typeof value === 'string' && isImageAddress(value) ? undefined : IMAGE_ADDRESS);

export const checkLink: ValueCheck = (value) => (typeof value === 'string' && isLinkAddress(value) ? undefined : LINK_ADDRESS);

export const checkClaimScope: ValueCheck = (value) => (value === false || isScope(value) ? undefined : SCOPE_OR_FALSE);

/** @see RFC 3986 §3.2 */
export const checkHost: ValueCheck = (value) => {
  const url = typeof value === 'string' && canParseUrl(`http://${value}`) ? new URL(`http://${value}`) : undefined;
  return url && url.host.replace(/:80$/, '') === (value as string).replace(/:80$/, '')
    ? undefined
    : "a host in lower case, as 'host' or 'host:port'";
};

export const checkPasswordAlgorithm: ValueCheck = (value) =>
  value === 'argon2id' && !('argon2' in crypto) ? "'scrypt', because this version of Node has no crypto.argon2" : undefined;

/** Checks a prefix of cookie names. In a cookie name, the prefix follows `__Host-`. @see RFC 6265bis §4.1.3 */
export const checkCookiePrefix: ValueCheck = (value) =>
  typeof value === 'string' && /^[a-z\d][\w.-]{0,31}$/i.test(value)
    ? undefined
    : 'a text of 1 to 32 letters, digits, ".", "_" and "-", of which the first is a letter or digit';

export const checkPowerOfTwo: ValueCheck = (value) =>
  Number.isInteger(Math.log2(Number(value))) ? undefined : 'a power of two, such as 16384';

export const checkRefusedPasswords: ValueCheck = (value) =>
  typeof value === 'function' || (Array.isArray(value) && value.every((each) => typeof each === 'string'))
    ? undefined
    : 'a list of refused passwords, or a function that returns true for a refused password: async (password) => …';

/** Returns the algorithm of a signing key. */
export const signingAlgorithm = (jwk: JWK): 'RS256' | 'ES256' => (jwk.kty === 'RSA' ? 'RS256' : 'ES256');

/** Checks a private key. The key has to be strong enough. The public part, which the service publishes, has to verify signatures of the private key. */
export const checkSigningKey: ValueCheck = (value) => {
  const jwk = value as JWK;
  let key: crypto.KeyObject;
  let isPair: boolean;
  try {
    const { kty = '', n = '', e = '', crv = '', x = '', y = '' } = jwk;
    key = crypto.createPrivateKey({ key: { ...jwk } as crypto.JsonWebKey, format: 'jwk' });
    const published = crypto.createPublicKey({
      key: kty === 'RSA' ? { kty, n, e } : { kty, crv, x, y },
      format: 'jwk',
    });
    const data = Buffer.from('signed to be verified');
    isPair = crypto.verify('sha256', data, published, crypto.sign('sha256', data, key));
  } catch {
    return 'a private key as a JWK, RSA (RS256) or P-256 (ES256)';
  }
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {};
  if (jwk.kty === 'RSA' ? modulusLength < 2048 : namedCurve !== 'prime256v1') return 'an RSA key of at least 2048 bits, or one of P-256';
  if (!isPair) return 'a private key and the public key that belongs to it: export both from one pair';
  if (jwk.alg !== undefined && jwk.alg !== signingAlgorithm(jwk)) return `a key whose alg is ${signingAlgorithm(jwk)}, or absent`;
  return jwk.use === undefined || jwk.use === 'sig' ? undefined : "a key whose use is 'sig', or absent";
};
