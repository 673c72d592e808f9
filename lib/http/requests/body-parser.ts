import type { IncomingMessage } from 'node:http';
import type { Middleware } from 'koa';
import { AWAITED_KILOBYTES, isLongBody } from './body-arrival.js';

export interface BodyFormat {
  /** Media types of the format. A body of another type is left unread. */
  readonly types: readonly string[];
  /** Maximum size of a body, in kilobytes. */
  readonly maxKilobytes: number;
  /** Reads a body, even an empty one. @throws errors that are passed to `onError` */
  readonly parse: (body: Buffer) => object;
  /** Throws the error that the client gets. */
  readonly onError: (error: unknown) => never;
}

/**
 * Returns a reader of bodies. The first body loads the parser. The packages of the parser take a tenth of the start time of a service, which may never get
 * a body.
 */
export function createBodyParser({ types, maxKilobytes, parse, onError }: BodyFormat): Middleware {
  let read: Middleware | undefined;
  return async function readBody(ctx, next) {
    if (isWithoutBody(ctx.req) || !ctx.is(...types)) {
      ctx.request.body ??= {};
      return next();
    }
    if (ctx.request.body !== undefined) return next();
    nameCoding(ctx.req);
    // A long body is refused, because a client could send a compressed body slowly, and keep the place of the request.
    if (isLongBody(ctx.req) && maxKilobytes <= AWAITED_KILOBYTES) onError(tooLong());
    // The function is stored, not the promise, so that the next body tries again if loading failed.
    if (!read) {
      const { default: create } = await import('koa-bodyparser');
      // One character for each byte, because the library would silently repair bytes that are not UTF-8.
      const bytewise = { encoding: 'binary' };
      read ??= create({
        ...bytewise,
        enableTypes: ['text'],
        extendTypes: { text: [...types] },
        textLimit: `${maxKilobytes}kb`,
        onerror: onError,
      });
    }
    await read(ctx, async () => {});
    const { request } = ctx as { request: { body?: unknown; rawBody?: unknown } };
    const bytes = Buffer.from(typeof request.body === 'string' ? request.body : '', 'binary');
    try {
      request.body = parse(bytes);
    } catch (error) {
      onError(error);
    }
    request.rawBody = bytes.toString();
    return next();
  };
}

/** Returns the error of the parser for a body over the maximum size. */
const tooLong = (): Error => Object.assign(new Error('request entity too large'), { status: 413, expose: true });

/** Returns whether the headers announce no body. For HTTP/2, `unreadRequest` adds a header that announces the body. @see RFC 9112 §6.3 */
const isWithoutBody = ({ headers }: IncomingMessage): boolean =>
  headers['content-length'] === undefined && headers['transfer-encoding'] === undefined;

/** Codings of bodies, by each of their names. The maximum size of a body holds for the decoded bytes. @see RFC 9110 §8.4.1 */
const codings: ReadonlyMap<string, string> = new Map([
  ['', 'identity'],
  ['identity', 'identity'],
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
]);

/** Writes the coding of a body in lower case, because the parser compares names with their case. @throws Error with status 415 for an unknown coding */
function nameCoding({ headers }: IncomingMessage): void {
  const coding = codings.get((headers['content-encoding'] ?? '').trim().toLowerCase());
  if (coding === undefined)
    throw Object.assign(new Error('The Content-Encoding of the body is not supported. Send gzip, deflate, br or none.'), {
      status: 415,
      expose: true,
    });
  headers['content-encoding'] = coding;
}
