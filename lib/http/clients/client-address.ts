import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Logger } from '../../logger.js';

/** How many proxies are in front, or what answers the client's address. */
export type TrustProxy = number | ((request: IncomingMessage) => string);

/**
 * The address of the client, for throttling: the connection's own, or the one that the outermost trusted proxy saw. Each proxy appends to
 * `X-Forwarded-For`, so the entries are counted from the right: what a client wrote itself is never reached.
 */
export function createAddressOf(trust: TrustProxy, logger: Pick<Logger, 'warn'>): (request: IncomingMessage) => string {
  let isForwardingTold = false;
  return (request) => {
    if (typeof trust === 'function') return normalAddress(String(trust(request)));
    const own = request.socket.remoteAddress ?? '';
    const { 'x-forwarded-for': forwarded } = request.headers;
    if (trust === 0) {
      if (forwarded !== undefined && !isForwardingTold) {
        isForwardingTold = true;
        logger.warn(
          {},
          'requests carry X-Forwarded-For, which is ignored because trustProxy is off: behind a proxy, all people share its address, and its limits',
        );
      }
      return normalAddress(own);
    }
    const hops = [forwarded ?? []]
      .flat()
      .join(',')
      .split(',')
      .flatMap((hop) => hop.trim() || []);
    return normalAddress(hops[Math.max(0, hops.length - trust)] ?? own);
  };
}

/** IPv4 mapped into IPv6, as Node writes it and as URL parsers do. @see RFC 4291 §2.5.5.2 */
const mapped = /^::ffff:(?:(\d+\.\d+\.\d+\.\d+)|([\da-f]{1,4}):([\da-f]{1,4}))$/;

/** An address in one form: without port, brackets and zone, IPv4 unmapped. Text that is no address stays as it is. */
function normalAddress(text: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/.exec(text) ?? [];
  const [address = ''] = (bracketed ?? plain ?? text).split('%', 1);
  if (isIP(address) !== 6) return isIP(address) === 4 ? address : text;
  // The parser writes each IPv6 address in one way. @see RFC 5952
  const normal = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, dotted, high, low] = mapped.exec(normal) ?? [];
  if (dotted !== undefined) return dotted;
  if (high === undefined || low === undefined) return normal;
  const bytes = [high, low].flatMap((half) => [Number.parseInt(half, 16) >> 8, Number.parseInt(half, 16) & 255]);
  return bytes.join('.');
}

/**
 * Who is counted as one: an IPv4 address, or the /64 of an IPv6 address, because a subscriber has at least one.
 * @see RFC 6177 §2
 * @example
 * ```ts
 * import { addressBlock } from 'tenant-idp/extension';
 *
 * console.log(addressBlock('2001:db8:0:1::7')); // 2001:db8:0:1::/64
 * ```
 */
export function addressBlock(address: string): string {
  if (isIP(address) !== 6) return address;
  const [before = '', after] = address.split('::');
  const groups = before === '' ? [] : before.split(':');
  const last = after === undefined || after === '' ? [] : after.split(':');
  const zeros = Array<string>(after === undefined ? 0 : 8 - groups.length - last.length).fill('0');
  return `${[...groups, ...zeros, ...last].slice(0, 4).join(':')}::/64`;
}

/**
 * Whom a password is hashed for, by the address and the name behind the request: each waits behind itself when there is much to do.
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
