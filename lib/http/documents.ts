import type { IncomingMessage, ServerResponse } from 'node:http';

/** A document that anyone may read, from any origin, as it is sent. */
export interface Document {
  readonly text: string;
  /** Of the text in UTF-8. */
  readonly byteLength: number;
  readonly type: string;
  readonly etag: string;
}

/** Answers without a context; left to who has one are requests that ask under conditions, but for the commonest. */
export function answerDocument(
  { method, headers }: IncomingMessage,
  res: ServerResponse,
  { text, byteLength, type, etag }: Document,
): boolean {
  const condition = headers['if-none-match'];
  if (headers['if-modified-since'] !== undefined || headers['cache-control'] !== undefined) return false;
  if (condition !== undefined && condition !== etag) return false;
  const open = { Vary: 'Origin', 'Access-Control-Allow-Origin': headers.origin ?? '*', ETag: etag };
  if (condition === etag) res.writeHead(304, open).end();
  else {
    res.writeHead(200, { ...open, 'Content-Type': type, 'Content-Length': byteLength });
    res.end(method === 'HEAD' ? undefined : text);
  }
  return true;
}
