import { IncomingMessage } from 'node:http';
import { stringify } from 'node:querystring';

/** Members that body parsers set. Parsers of Koa set them on `ctx.request`, other parsers on the request itself. */
interface ReadBody {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/** Returns the request as it was before a parser of the host read its body. Returns the same request if no parser read the body. */
export function unreadRequest(req: IncomingMessage, ...parsed: readonly ReadBody[]): IncomingMessage {
  announceBody(req);
  if (req.readable) return req;
  const read = [...parsed, req as ReadBody];
  const body = read.find(({ rawBody }) => rawBody !== undefined)?.rawBody ?? read.find(({ body }) => body !== undefined)?.body;
  if (body === undefined) return req;

  const { 'transfer-encoding': _chunked, 'content-encoding': _compressed, ...headers } = req.headers;
  const bytes = bytesOf(body, headers['content-type']);
  const unread = new IncomingMessage(req.socket);
  const { method, url, httpVersion, httpVersionMajor, httpVersionMinor, rawHeaders } = req;
  // Other members that the host set on its request stay, because a `trustProxy` function may need them.
  Object.setPrototypeOf(unread, Object.getPrototypeOf(req) as object);
  Object.assign(
    unread,
    { ...req, ...unread },
    { method, url, httpVersion, httpVersionMajor, httpVersionMinor, rawHeaders, complete: true },
  );
  unread.headers = { ...headers, 'content-length': String(bytes.length) };
  unread.push(bytes);
  unread.push(null);
  return unread;
}

/**
 * Announces the body of an HTTP/2 request that has no length. HTTP/1 announces each body in its headers, so parsers read only the headers.
 * @see RFC 9112 §6.3, RFC 9113 §8.1.1
 */
export function announceBody(req: IncomingMessage): void {
  const { headers, httpVersionMajor } = req;
  if (httpVersionMajor < 2 || headers['content-length'] !== undefined) return;
  const { stream } = req as { readonly stream?: { readonly endAfterHeaders?: boolean } };
  if (stream?.endAfterHeaders !== true) headers['transfer-encoding'] = 'chunked';
}

function bytesOf(body: unknown, type = ''): Buffer {
  if (Buffer.isBuffer(body)) return body;
  if (typeof body === 'string') return Buffer.from(body);
  return Buffer.from(/\bjson\b/i.test(type) ? JSON.stringify(body) : stringify(body as NodeJS.Dict<string>));
}
