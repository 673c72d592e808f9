/** Addresses of service providers, to which browsers are sent with assertions, and from which metadata is read. */
import { canParseUrl, isHttpsOrLocal } from '../../../lib/extension-door.js';

/** Characters that a URL has percent-encoded only. @see RFC 3986 §2.2 */
const strange = /[^!-~]|["<>\\^`{|}]/;

/** What an address is to be instead, where it is none that browsers are sent to; undefined where it is one. */
export function addressProblem(address: string, production: boolean): string | undefined {
  if (address.length > 1024) return 'at most 1024 characters';
  if (strange.test(address) || !canParseUrl(address)) return 'an absolute URL, with other characters percent-encoded';
  const url = new URL(address);
  if (!isHttpsOrLocal(url, production)) return production ? 'an https URL' : 'an https URL, or http at a loopback address';
  if (url.username !== '' || url.password !== '') return 'a URL without credentials';
  return address.includes('#') ? 'a URL without a fragment' : undefined;
}
