/** Rules for the addresses that the service may call, as far as the URL shows them. The rules are checked when a URL is written, and when it is called. */
import { isIP } from 'node:net';
import { canParseUrl } from '../text/can-parse-url.js';
import { isPublicAddress } from './public-address.js';

/** Returns a function that checks whether the operator allows the host of a URL by the option `outgoing.allowHosts`. */
export function createAllowedHosts(allowHosts: readonly string[]): (url: URL) => boolean {
  const allowed = new Set(allowHosts.map((host) => host.toLowerCase()));
  return ({ hostname, port, protocol }) =>
    allowed.has(hostname) || allowed.has(`${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`);
}

/** Returns whether the host of a URL is an address outside the Internet. The URL parser has normalised the spelling of the address. */
export function isPrivateLiteral({ hostname }: URL): boolean {
  const address = hostname.replace(/^\[|\]$/g, '');
  return isIP(address) !== 0 && !isPublicAddress(address);
}

/** Returns what a URL should be instead, if the service may not call the URL; otherwise undefined. See `http.fetchProblem` of the extension context. */
export type FetchProblem = (url: string) => string | undefined;

export function createFetchProblem(options: { readonly allowHosts: readonly string[]; readonly production: boolean }): FetchProblem {
  const isAllowed = createAllowedHosts(options.allowHosts);
  return (text) => {
    if (!options.production || !canParseUrl(text)) return undefined;
    const url = new URL(text);
    return isAllowed(url) || !isPrivateLiteral(url)
      ? undefined
      : 'a URL whose host is a name, a public address, or a host of outgoing.allowHosts';
  };
}
