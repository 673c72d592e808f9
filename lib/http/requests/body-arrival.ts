/** Arrival of bodies: the service works for a request after its body has arrived. A client that sends slowly occupies only its connection. */
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { announceBody } from './unread-request.js';

/** Maximum size of the bodies that the service waits for, in kilobytes. */
export const AWAITED_KILOBYTES = 64;
/** Maximum size of such a body in bytes, with the bytes that a content coding may add. */
const MOST_BYTES = (AWAITED_KILOBYTES + 1) * 1024;

const longer = new WeakSet<IncomingMessage>();

/** Returns whether the body of an admitted request is too long to wait for. The rest of such a body may still be arriving. */
export const isLongBody = (req: IncomingMessage): boolean => longer.has(req);

/**
 * Waits for the body of a request, and leaves the body unread. Returns undefined if there is nothing to wait for: the request has no body, its body has
 * arrived, or the body is too long to wait for.
 * @returns whether the body arrived. Otherwise the client ended the request.
 */
export function bodyArrival(req: IncomingMessage): Promise<boolean> | undefined {
  announceBody(req);
  const { headers } = req;
  const length = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Number.POSITIVE_INFINITY;
  // A request is complete, or cannot be read, after a parser of the host has read its body.
  if (!(length > 0) || req.complete || !req.readable || req.readableLength >= length) return undefined;
  if (Number.isFinite(length) && length > MOST_BYTES) {
    longer.add(req);
    return undefined;
  }
  return arrival(req, length);
}

const arrival = (req: IncomingMessage, length: number): Promise<boolean> =>
  new Promise((resolve) => {
    const pieces: Buffer[] = [];
    let bytes = 0;
    const settle = (isHere: boolean): void => {
      req.off('readable', look).off('close', gone);
      resolve(isHere);
    };
    const gone = (): void => settle(false);
    const look = (): void => {
      // A read without data would end a body that has arrived.
      while (req.readableLength > 0) {
        const piece = req.read() as Buffer;
        pieces.push(piece);
        bytes += piece.length;
      }
      const isWhole = bytes >= length || hasEnded(req);
      if (!isWhole && bytes <= MOST_BYTES) return;
      if (!isWhole) longer.add(req);
      // The pieces are put back in the same tick, because a request that was read to its end could not be read again.
      const [first, ...others] = pieces;
      if (first) req.unshift(others.length === 0 ? first : Buffer.concat(pieces));
      settle(true);
    };
    // Without this read, the listener would read in the next tick, which ends an empty body that has arrived by then.
    req.read(0);
    req.on('readable', look).on('close', gone);
  });

/** Returns whether the client has sent the end of the body. `complete` of an HTTP/2 request is also true if the client ended the request early. */
function hasEnded(req: IncomingMessage): boolean {
  if (req.httpVersionMajor < 2) return req.complete;
  const { stream } = req as unknown as Http2ServerRequest;
  return stream.readableEnded && stream.rstCode === 0;
}
