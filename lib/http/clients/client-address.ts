import type { IncomingMessage } from 'node:http';
import type { Logger } from '../../logger.js';
import { ipv6Block, normalAddress } from '../../text/ip-address.js';

/** The number of proxies in front of the service, or a function that returns the client's address. */
export type TrustProxy = number | ((request: IncomingMessage) => string);

/**
 * Returns the address of the client, for rate limits: the address of the connection, or the address that the outermost trusted proxy saw. Each proxy
 * appends to `X-Forwarded-For`, so the entries are counted from the right. Entries that the client wrote itself are never reached.
 */
export function createAddressOf(trust: TrustProxy, logger: Pick<Logger, 'warn'>): (request: IncomingMessage) => string {
  let isForwardingTold = false;
  return (request) => {
    if (typeof trust === 'function') return withoutPort(String(trust(request)));
    const own = request.socket.remoteAddress ?? '';
    const { 'x-forwarded-for': forwarded } = request.headers;
    if (trust === 0) {
      if (forwarded !== undefined && !isForwardingTold) {
        isForwardingTold = true;
        logger.warn(
          {},
          'requests have X-Forwarded-For, which the service ignores because trustProxy is off, so all users behind a proxy share the rate limits of the proxy',
        );
      }
      return withoutPort(own);
    }
    const hops = [forwarded ?? []]
      .flat()
      .join(',')
      .split(',')
      .flatMap((hop) => hop.trim() || []);
    return withoutPort(hops[Math.max(0, hops.length - trust)] ?? own);
  };
}

/** Returns an address in one form, without port and brackets. Other text stays unchanged. */
function withoutPort(text: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/.exec(text) ?? [];
  return normalAddress(bracketed ?? plain ?? text) ?? text;
}

/**
 * Returns the name by which rate limits count a client. The name is an IPv4 address, or the /64 of an IPv6 address, because a subscriber has at least one
 * /64.
 * @see RFC 6177 §2
 * @example
 * ```ts
 * import { addressBlock } from 'tenant-idp/extension';
 *
 * console.log(addressBlock('2001:db8:0:1::7')); // 2001:db8:0:1::/64
 * ```
 */
export const addressBlock = (address: string): string => ipv6Block(address, 4);

/**
 * Returns the names of the queues in which password hashing waits: the address and the user name of the request. One address or user name cannot delay all
 * others.
 * @example
 * ```ts
 * import { hashingQueuesOf } from 'tenant-idp/extension';
 *
 * console.log(hashingQueuesOf('192.0.2.7', 'alice')); // [ 'address 192.0.2.7', 'name alice' ]
 * ```
 */
export const hashingQueuesOf = (address: string, name?: string): readonly string[] => [
  `address ${addressBlock(address)}`,
  ...(name === undefined ? [] : [`name ${name}`]),
];
