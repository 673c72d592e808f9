import type { IncomingMessage, ServerResponse } from 'node:http';

/** A document that anybody may read from any origin, in the form in which the document is sent. */
export interface Document {
  readonly text: string;
  /** Length of the text in UTF-8, in bytes. */
  readonly byteLength: number;
  readonly type: string;
  readonly etag: string;
}

/**
 * Answers without a Koa context. Returns false for conditional requests, except the most common kind. These requests have to be answered with a context.
 */
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
