/** HTTP requests for tests that are not about the HTTP client, with a third of the CPU time of `fetch`. */
import http from 'node:http';
import https from 'node:https';
import { gunzipSync } from 'node:zlib';
import { testTls } from '../browser/tls.js';

export interface Sending {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Body of the request. A form has the content type of a form unless `headers` set another. */
  readonly body?: string | URLSearchParams;
}

export interface Sent {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Settings that end an idle connection before Node's server ends it, after five seconds. */
const kept = { keepAlive: true, timeout: 3000 };
const agents = { http: new http.Agent(kept), https: new https.Agent({ ...kept, ca: testTls.cert }) };

/** Sends a request, and follows no redirect. */
export function send(url: string, { method = 'GET', headers = {}, body }: Sending = {}): Promise<Sent> {
  const isSecure = url.startsWith('https:');
  const bytes = body === undefined ? undefined : Buffer.from(String(body));
  const settings = {
    agent: isSecure ? agents.https : agents.http,
    method,
    headers: {
      accept: '*/*',
      'accept-encoding': 'gzip',
      ...(body instanceof URLSearchParams && { 'content-type': 'application/x-www-form-urlencoded' }),
      ...(bytes && { 'content-length': `${bytes.length}` }), // Node leaves the length out for some methods
      ...headers,
    },
  };
  return new Promise((resolve, reject) => {
    const request = (isSecure ? https : http).request(url, settings, (response) => {
      const parts: Buffer[] = [];
      response
        .on('data', (part: Buffer) => parts.push(part))
        .on('end', () => {
          const received = Buffer.concat(parts);
          const isZipped = response.headers['content-encoding'] === 'gzip' && received.length > 0;
          const text = (isZipped ? gunzipSync(received) : received).toString();
          resolve({ status: response.statusCode ?? 0, headers: headersOf(response.rawHeaders), text });
        })
        .on('error', reject);
    });
    request.on('error', reject).end(bytes);
  });
}

function headersOf(raw: readonly string[]): Headers {
  const headers = new Headers();
  for (let at = 0; at < raw.length; at += 2) headers.append(raw[at] as string, raw[at + 1] as string);
  return headers;
}

/** Parses a body that is an object in JSON. Returns undefined for other bodies. */
export const jsonOf = (text: string) => (text.startsWith('{') ? JSON.parse(text) : undefined);
