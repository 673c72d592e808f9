import { connect, type Socket } from 'node:net';

/** A keep-alive connection that costs less than the answers that it gets. `node:http` would be slower than a server that only sends a text. */
export class PlainSocket {
  readonly #socket: Socket;
  readonly #host: string;
  #received = '';
  #settle: { resolve(): void; reject(error: Error): void } | undefined;

  constructor(issuer: string) {
    const { hostname, port, host } = new URL(issuer);
    this.#host = host;
    this.#socket = connect(Number(port), hostname)
      .setNoDelay(true)
      .setEncoding('latin1')
      .on('data', (text: string) => this.#take(text))
      .on('error', (error) => this.#settle?.reject(error));
  }

  /** Resolves with the whole answer. Rejects for an error. */
  get(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#socket.write(`GET ${path} HTTP/1.1\r\nHost: ${this.#host}\r\n\r\n`);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(text: string): void {
    this.#received += text;
    const end = this.#received.indexOf('\r\n\r\n');
    const length = end < 0 ? undefined : /\r\ncontent-length: (\d+)/i.exec(this.#received)?.[1];
    if (length === undefined || this.#received.length < end + 4 + Number(length)) return;
    const answer = this.#received;
    this.#received = '';
    if (answer.startsWith('HTTP/1.1 200 ')) this.#settle?.resolve();
    else this.#settle?.reject(new Error(`answered ${answer.slice(0, end)}`));
  }
}
