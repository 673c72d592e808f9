import { canParseUrl } from './can-parse-url.js';
import { isPlainHost } from './plain-host.js';

/** Expected form of the address of a link on pages, for error messages. */
export const LINK_ADDRESS = "an http or https URL, or a path of the issuer's origin, such as '/privacy'";

/** Returns whether pages may link to an address: an http or https URL without user name and password, or a path of the issuer's origin. */
export function isLinkAddress(text: string): boolean {
  if (/^\/(?![/\\])/.test(text)) return canParseUrl(text, 'http://own.invalid');
  if (!/^https?:\/\/[^/@\\]/.test(text) || !canParseUrl(text)) return false;
  const { host, username, password } = new URL(text);
  return isPlainHost(host) && username === '' && password === '';
}
