/** Host names of this machine in URLs. */

const hostnames: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Returns whether a URL with this hostname is at this machine.
 * @param hostname as `URL` has it: in lower case, an IPv6 address in brackets.
 * @see RFC 8252 §7.3
 * @example
 * ```ts
 * import { isLoopback } from 'tenant-idp/extension';
 *
 * console.log(isLoopback(new URL('http://[::1]:3000').hostname)); // true
 * ```
 */
export const isLoopback = (hostname: string): boolean => hostnames.has(hostname);

/**
 * Returns whether a URL is https, or http at this machine outside production.
 * @example
 * ```ts
 * import { canParseUrl, type ExtensionContext, isHttpsOrLocal } from 'tenant-idp/extension';
 *
 * const isRight = (url: string, { service }: ExtensionContext): boolean =>
 *   canParseUrl(url) && isHttpsOrLocal(new URL(url), service.production);
 * ```
 */
export const isHttpsOrLocal = ({ protocol, hostname }: Pick<URL, 'protocol' | 'hostname'>, production: boolean): boolean =>
  protocol === 'https:' || (!production && protocol === 'http:' && isLoopback(hostname));
