/**
 * Requests to addresses that others chose: logout URIs, request URIs, key sets. Requests to such addresses reach nothing inside the operator's network.
 *
 * Names are looked up without the threads that hash passwords (`name-lookups`). Only addresses of the Internet are called (`public-address`).
 * `remote-documents` reads a document once, even if many clients need the document. `concurrency-limit` allows few reads at the same time.
 */
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { deadlineAfter, leave } from '../times/free-time.js';
import { createAllowedHosts, isPrivateLiteral } from './fetch-rules.js';
import { isLoopback } from './loopback.js';
import { createNameLookups, type NameLookups } from './name-lookups.js';

export interface GuardedRequest {
  /** @default 'GET' */
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /**
   * Maximum milliseconds of the whole call, including the name look-up and the body. Time counts only while this node is free to read an answer. Otherwise
   * a busy or stopped node would mistake a healthy server for a slow server.
   */
  readonly timeoutMs: number;
  /** Maximum bytes of the body, as sent. With `0`, the body is not read, and the answer has only the status and the headers. */
  readonly maxBytes: number;
  /** Whether this machine may be called, also over http: for development. @default false */
  readonly allowLoopback?: boolean;
}

export interface GuardedResponse {
  /** HTTP status. Redirects are not followed. */
  readonly status: number;
  /** Headers, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * Calls a URL that another party chose: https at public addresses, or a host that the operator allows. Redirects are not followed.
 * @throws Error with the reason for a missing answer: not allowed, too slow, too large, unreachable.
 */
export type GuardedFetch = (url: string | URL, request: GuardedRequest) => Promise<GuardedResponse>;

/** @param allowHosts `host` or `host:port`: called at any address, also over http. */
export function createGuardedFetch(
  { allowHosts }: { readonly allowHosts: readonly string[] },
  { lookupPublic, lookupAllowed }: NameLookups = createNameLookups(),
): GuardedFetch {
  const isAllowedHost = createAllowedHosts(allowHosts);
  return async (target, { method = 'GET', headers = {}, body, timeoutMs, maxBytes, allowLoopback = false }) => {
    const url = new URL(target);
    const { hostname, protocol } = url;
    const isAllowed = (allowLoopback && isLoopback(hostname)) || isAllowedHost(url);
    if (protocol !== 'https:' && !(isAllowed && protocol === 'http:')) throw new Error(`${url.origin} is not https`);
    if (url.username !== '' || url.password !== '') throw new Error(`the URL at ${url.host} carries credentials`);
    // A literal address is never looked up.
    if (!isAllowed && isPrivateLiteral(url)) throw new Error(`${hostname} is not a public address`);

    const send = protocol === 'https:' ? requestHttps : requestHttp;
    return new Promise<GuardedResponse>((resolve, reject) => {
      const answer = (response: IncomingMessage, bytes: Buffer): void => {
        leave(waiting);
        resolve({ status: response.statusCode ?? 0, headers: plainHeaders(response.headers), body: bytes });
      };
      const request = send(url, {
        method,
        // Opens a new connection, because an open connection was checked for another call.
        agent: false,
        headers: {
          ...headers,
          'accept-encoding': 'identity',
          ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
        },
        lookup: isAllowed ? lookupAllowed : lookupPublic,
      });
      const fail = (error: Error): void => {
        leave(waiting);
        reject(error);
        request.destroy();
      };
      const waiting = deadlineAfter(timeoutMs).enter(() => fail(new Error(`${url.host} took more than ${timeoutMs} ms`)));
      request.on('error', fail);
      request.once('response', (response) => {
        if (maxBytes === 0) {
          answer(response, Buffer.alloc(0));
          request.removeListener('error', fail).on('error', () => {});
          request.destroy();
          return;
        }
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > maxBytes) fail(new Error(`${url.host} answered more than ${maxBytes} bytes`));
          else chunks.push(chunk);
        });
        response.once('end', () => answer(response, Buffer.concat(chunks)));
        response.on('error', fail);
      });
      request.end(body);
    });
  };
}

const plainHeaders = (headers: NodeJS.Dict<string | string[]>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]));
