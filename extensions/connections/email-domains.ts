/** Domains of e-mail addresses, in the form in which they are compared. */
import { canParseUrl } from '../../lib/extension-door.js';

/** The domain of an e-mail address, as it is compared; undefined for another name. */
export function domainOf(identifier: string): string | undefined {
  const separator = identifier.lastIndexOf('@');
  return separator > 0 ? foldedDomain(identifier.slice(separator + 1)) : undefined;
}

/** Characters of a domain at most, in whatever script. @see RFC 1035 §2.3.4 */
const LONGEST_DOMAIN = 255;

/** In ASCII and lower case; undefined for what is no domain. @see RFC 5891 */
export function foldedDomain(domain: string): string | undefined {
  if (domain.length > LONGEST_DOMAIN) return undefined;
  const trimmed = domain.trim().replace(/\.$/, '');
  if (!/^[^\s/:?#@[\]\\%]+\.[^\s/:?#@[\]\\%]+$/.test(trimmed) || !canParseUrl(`http://${trimmed}`)) return undefined;
  const { hostname } = new URL(`http://${trimmed}`);
  return /^[a-z0-9.-]+$/.test(hostname) && !/^[\d.]+$/.test(hostname) ? hostname : undefined;
}
