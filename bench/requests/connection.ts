import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { PlainSocket } from './plain-socket.js';

export interface Reply {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** One keep-alive connection to a server. */
export class Connection {
  readonly issuer: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  #socket: PlainSocket | undefined;
  readonly #origin: { readonly host: string; readonly port: string };

  constructor(issuer: string) {
    const { hostname: host, port } = new URL(issuer);
    this.issuer = issuer;
    this.#origin = { host, port };
  }

  get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return this.#send('GET', path, headers);
  }

  post(path: string, fields: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return this.#send('POST', path, { ...formHeaders(fields), ...headers }, encoded(fields));
  }

  /** Posts a form for which an OAuth error is expected. Rejects for every other answer. */
  async refused(
    error: string,
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>>,
  ): Promise<void> {
    const { status, body } = await this.#answer('POST', path, { ...formHeaders(fields), ...headers }, encoded(fields));
    if (status !== 400 || !body.includes(`"error":"${error}"`)) throw new Error(`POST ${path} answered ${status}: ${body}`);
  }

  /** Gets a document without reading it. */
  async document(path: string): Promise<void> {
    this.#socket ??= new PlainSocket(this.issuer);
    await this.#socket.get(path);
  }

  close(): void {
    this.#socket?.close();
    this.#agent.destroy();
  }

  /** Rejects for an error, because a refusal is faster than an answer and must not count. */
  async #send(method: string, path: string, headers: Readonly<Record<string, string>>, body?: string): Promise<Reply> {
    const answer = await this.#answer(method, path, headers, body);
    if (answer.status >= 400) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.body}`);
    return answer;
  }

  #answer(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: string,
  ): Promise<Reply & { readonly status: number }> {
    return new Promise((resolve, reject) => {
      const sent = request({ ...this.#origin, agent: this.#agent, method, path, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('error', reject);
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }));
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }
}

type Fields = Readonly<Record<string, string>>;

const encoded = (fields: Fields): string => new URLSearchParams(fields).toString();

const formHeaders = (fields: Fields): Fields => ({
  'content-type': 'application/x-www-form-urlencoded',
  'content-length': String(encoded(fields).length),
});
