/**
 * Requests to addresses that others chose: logout URIs, request URIs, key sets. Nothing inside the operator's network is reached by them.
 *
 * Names are looked up apart from the threads that hash passwords (`name-lookups`), and only addresses of the Internet are called (`public-address`).
 * `remote-documents` reads a document once, however many strangers ask for it, and lets few reads run at a time (`concurrency-limit`).
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
   * Maximum milliseconds of the whole call, with the name look-up and the body. Time counts only while this process is free to read an answer, so that a
   * busy or stopped process does not mistake a healthy server for a slow one.
   */
  readonly timeoutMs: number;
  /** Maximum bytes of the body, as sent. With `0`, the body is not read, and the answer is its status and headers. */
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
 * @throws Error with the reason that there is no answer: not allowed, too slow, too large, unreachable.
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
        // A new connection, because an open one was checked for another caller.
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
