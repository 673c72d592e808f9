import { canParseUrl } from './can-parse-url.js';
import { isPlainHost } from './plain-host.js';

/** Expected form of the address of an image, for error messages. */
export const IMAGE_ADDRESS = "an https URL, or a path of the issuer's origin, such as '/logo.svg'";

/** Returns whether pages may load an image from an address: an https URL without user name and password, or a path of the issuer's origin. */
export function isImageAddress(text: string): boolean {
  if (/^\/(?![/\\])/.test(text)) return true;
  if (!/^https:\/\/[^/@\\]/.test(text) || !canParseUrl(text)) return false;
  const { host, username, password } = new URL(text);
  return isPlainHost(host) && username === '' && password === '';
}
