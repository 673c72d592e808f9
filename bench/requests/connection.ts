import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { PlainSocket } from './plain-socket.js';

export interface Reply {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** One keep-alive connection to a server. */
export class Connection {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #issuer: string;
  #socket: PlainSocket | undefined;
  readonly #origin: { readonly host: string; readonly port: string };

  constructor(issuer: string) {
    const { hostname: host, port } = new URL(issuer);
    this.#issuer = issuer;
    this.#origin = { host, port };
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return this.#send('GET', path, headers);
  }

  post(path: string, fields: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    const body = new URLSearchParams(fields).toString();
    const form = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': String(body.length) };
    return this.#send('POST', path, { ...form, ...headers }, body);
  }

  /** A document, of which nothing is read. */
  async document(path: string): Promise<void> {
    this.#socket ??= new PlainSocket(this.#issuer);
    await this.#socket.get(path);
  }

  close(): void {
    this.#socket?.close();
    this.#agent.destroy();
  }

  /** Rejects for an error: a refusal is faster than an answer and must not count. */
  #send(method: string, path: string, headers: Readonly<Record<string, string>>, body?: string): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const sent = request({ ...this.#origin, agent: this.#agent, method, path, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('error', reject);
        response.on('end', () => {
          const { statusCode = 0 } = response;
          if (statusCode >= 400) reject(new Error(`${method} ${path} answered ${statusCode}: ${text}`));
          else resolve({ headers: response.headers, body: text });
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }
}
