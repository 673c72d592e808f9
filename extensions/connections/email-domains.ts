/** Domains of e-mail addresses, in a form that can be compared. */
import { canParseUrl } from '../../lib/extension-door.js';

/** Returns the domain of an e-mail address in the form of {@link foldedDomain}; undefined if the identifier has no domain. */
export function domainOf(identifier: string): string | undefined {
  const separator = identifier.lastIndexOf('@');
  return separator > 0 ? foldedDomain(identifier.slice(separator + 1)) : undefined;
}

/** Maximum characters of a domain, in any script. @see RFC 1035 §2.3.4 */
const LONGEST_DOMAIN = 255;

/** Returns the domain in ASCII and lower case; undefined if the text is no domain. @see RFC 5891 */
export function foldedDomain(domain: string): string | undefined {
  if (domain.length > LONGEST_DOMAIN) return undefined;
  const trimmed = domain.trim().replace(/\.$/, '');
  if (!/^[^\s/:?#@[\]\\%]+\.[^\s/:?#@[\]\\%]+$/.test(trimmed) || !canParseUrl(`http://${trimmed}`)) return undefined;
  const { hostname } = new URL(`http://${trimmed}`);
  return /^[a-z0-9.-]+$/.test(hostname) && !/^[\d.]+$/.test(hostname) ? hostname : undefined;
}
