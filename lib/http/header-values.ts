/**
 * Values of response headers that come from records, options or other services. For each header with such a value, this file has a function that encodes
 * the value or leaves the value out. `Location` needs no function, because Koa, and the `href` of a `URL`, encode `Location`.
 */

import { canParseUrl } from '../text/can-parse-url.js';
import { isPlainHost } from '../text/plain-host.js';

/**
 * Returns the Content-Security-Policy source that allows a URL. Undefined for a host that no policy can name. Pages then load nothing from that host.
 * @param url an absolute URL, or a path of this origin
 * @see Content Security Policy Level 3 §2.3.1
 */
export function policySource(url: string, part: 'origin' | 'path'): string | undefined {
  if (url.startsWith('/')) return "'self'";
  if (!canParseUrl(url)) return undefined;
  const { origin, host, pathname } = new URL(url);
  if (!isPlainHost(host)) return undefined;
  return part === 'origin' ? origin : origin + pathname.replaceAll(';', '%3B').replaceAll(',', '%2C').replaceAll("'", '%27');
}

/** Returns a challenge for `WWW-Authenticate`. @see RFC 9110 §5.6.4, §11.6.1 */
export const challenge = (scheme: 'Basic' | 'Bearer' | 'DPoP', parameters: Readonly<Record<string, string>>): string =>
  `${scheme} ${Object.entries(parameters)
    .map(([name, value]) => `${name}=${quoted(value)}`)
    .join(', ')}`;

const quoted = (text: string): string => `"${text.replaceAll(/[^ -~]/g, '?').replaceAll(/["\\]/g, '\\$&')}"`;
