/** Requests to addresses that others chose: logout URIs, request URIs, key sets. Nothing inside the operator's network is reached by them. */
import { lookup } from 'node:dns';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';

export interface GuardedRequest {
  /** @default 'GET' */
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Milliseconds for all of it, the name look-up and the body included. */
  readonly timeoutMs: number;
  /** Bytes of the body, as they come over the wire. */
  readonly maxBytes: number;
}

export interface GuardedResponse {
  /** A redirect is an answer like any other: it is never followed. */
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * Calls a URL that somebody else chose: https at public addresses, or a host that the operator allows. No redirect is followed.
 * @throws Error that says why there is no answer: not allowed, too slow, too large, unreachable.
 */
export type GuardedFetch = (url: string | URL, request: GuardedRequest) => Promise<GuardedResponse>;

/** @param allowHosts `host` or `host:port`: reached at whatever address, and over http as well. */
export function createGuardedFetch({ allowHosts }: { readonly allowHosts: readonly string[] }): GuardedFetch {
  const allowed = new Set(allowHosts.map((host) => host.toLowerCase()));
  return async (target, { method = 'GET', headers = {}, body, timeoutMs, maxBytes }) => {
    const url = new URL(target);
    const { hostname, protocol } = url;
    const isAllowed = allowed.has(hostname) || allowed.has(`${hostname}:${url.port || (protocol === 'https:' ? '443' : '80')}`);
    if (protocol !== 'https:' && !(isAllowed && protocol === 'http:')) throw new Error(`${url.origin} is not https`);
    if (url.username !== '' || url.password !== '') throw new Error(`the URL at ${url.host} carries credentials`);
    // A literal address is never looked up.
    const address = hostname.replace(/^\[|\]$/g, '');
    if (!isAllowed && isIP(address) !== 0 && !isPublicAddress(address)) throw new Error(`${hostname} is not a public address`);

    const signal = AbortSignal.timeout(timeoutMs);
    const send = protocol === 'https:' ? requestHttps : requestHttp;
    return new Promise((resolve, reject) => {
      const request = send(url, {
        method,
        // A connection of its own: one that is kept open was checked for another caller.
        agent: false,
        headers: {
          ...headers,
          'accept-encoding': 'identity',
          ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
        },
        signal,
        ...(isAllowed ? {} : { lookup: lookupPublic }),
      });
      const fail = (error: Error) => {
        request.destroy();
        reject(signal.aborted ? new Error(`${url.host} took more than ${timeoutMs} ms`) : error);
      };
      request.on('error', fail);
      request.once('response', (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > maxBytes) fail(new Error(`${url.host} answered more than ${maxBytes} bytes`));
          else chunks.push(chunk);
        });
        response.once('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: plainHeaders(response.headers), body: Buffer.concat(chunks) }),
        );
        response.on('error', fail);
      });
      request.end(body);
    });
  };
}

/** The address that was checked is the one that is connected to: a name that answers differently the next time gains nothing. */
const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    const [first] = addresses ?? [];
    if (error || !first) return callback(error ?? new Error(`${hostname} has no address`), '');
    const refused = addresses.find(({ address }) => !isPublicAddress(address));
    if (refused) return callback(new Error(`${hostname} is not at a public address`), '');
    if (options.all) return callback(null, addresses);
    callback(null, first.address, first.family);
  });
};

/** What is not globally reachable. @see IANA IPv4 and IPv6 Special-Purpose Address Registries, RFC 6890 */
const special = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  special.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
] as const)
  special.addSubnet(network, prefix, 'ipv6');

/** All that IANA has given out so far; mapped, translated, local and multicast addresses are outside. @see RFC 4291 §2.4 */
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');

/** Whether an address is one of the Internet, and not of somebody's own network. */
export function isPublicAddress(address: string): boolean {
  // A zone names an interface of this machine. @see RFC 4007 §11
  if (address.includes('%')) return false;
  if (isIP(address) === 4) return !special.check(address, 'ipv4');
  return globalUnicast.check(address, 'ipv6') && !special.check(address, 'ipv6');
}

const plainHeaders = (headers: NodeJS.Dict<string | string[]>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]));
