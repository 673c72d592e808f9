/** Rules for URLs of service providers: URLs that get assertions, and URLs that publish metadata. */
import { canParseUrl, isHttpsOrLocal } from '../../../lib/extension-door.js';

/** Characters that a URL must percent-encode. @see RFC 3986 §2.2 */
const strange = /[^!-~]|["<>\\^`{|}]/;

/** Returns what an address must be. Undefined if browsers may be sent to the address. */
export function addressProblem(address: string, production: boolean): string | undefined {
  if (address.length > 1024) return 'at most 1024 characters';
  if (strange.test(address) || !canParseUrl(address)) return 'an absolute URL, with other characters percent-encoded';
  const url = new URL(address);
  if (!isHttpsOrLocal(url, production)) return production ? 'an https URL' : 'an https URL, or http at a loopback address';
  if (url.username !== '' || url.password !== '') return 'a URL without credentials';
  return address.includes('#') ? 'a URL without a fragment' : undefined;
}
