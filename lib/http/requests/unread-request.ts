import { IncomingMessage } from 'node:http';
import { stringify } from 'node:querystring';

/** What body parsers leave behind: Koa's on `ctx.request`, others on the request itself. */
interface ReadBody {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/** The request as it was before a host's parser read its body; the very request when none did. */
export function unreadRequest(req: IncomingMessage, ...parsed: readonly ReadBody[]): IncomingMessage {
  if (req.readable) return req;
  const read = [...parsed, req as ReadBody];
  const body = read.find(({ rawBody }) => rawBody !== undefined)?.rawBody ?? read.find(({ body }) => body !== undefined)?.body;
  if (body === undefined) return req;

  const { 'transfer-encoding': _chunked, 'content-encoding': _compressed, ...headers } = req.headers;
  const bytes = bytesOf(body, headers['content-type']);
  const unread = new IncomingMessage(req.socket);
  const { method, url, httpVersion, httpVersionMajor, httpVersionMinor, rawHeaders } = req;
  // What the host put on its request stays: a `trustProxy` function may look for it.
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

function bytesOf(body: unknown, type = ''): Buffer {
  if (Buffer.isBuffer(body)) return body;
  if (typeof body === 'string') return Buffer.from(body);
  return Buffer.from(/\bjson\b/i.test(type) ? JSON.stringify(body) : stringify(body as NodeJS.Dict<string>));
}
