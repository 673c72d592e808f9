import type { IncomingMessage } from 'node:http';

/** How many proxies are in front, or what answers the client's address. */
export type TrustProxy = number | ((request: IncomingMessage) => string);

/**
 * The address of the client, for throttling: the connection's own, or the one that the outermost trusted proxy saw. Each proxy appends to
 * `X-Forwarded-For`, so the entries are counted from the right: what a client wrote itself is never reached.
 */
export const createAddressOf =
  (trust: TrustProxy) =>
  (request: IncomingMessage): string => {
    if (typeof trust === 'function') return trust(request);
    const own = request.socket.remoteAddress ?? '';
    const forwarded = [request.headers['x-forwarded-for'] ?? []].flat().join(',');
    const hops = forwarded.split(',').flatMap((hop) => hop.trim() || []);
    return trust === 0 ? own : (hops[Math.max(0, hops.length - trust)] ?? own);
  };
