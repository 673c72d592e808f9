/** A proxy between a client and a Redis server. The proxy records the client's data, and can change or drop answers. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

export class RedisProxy {
  /** Data from the client, one entry for each write. */
  readonly writes: string[] = [];
  /** Changes an answer of the server. An empty answer is dropped. */
  answer: (text: string) => string = (text) => text;
  readonly #server = createServer((client) => this.#join(client));
  readonly #sockets = new Set<Socket>();
  readonly #target: number;

  private constructor(target: number) {
    this.#target = target;
  }

  static async to(url: string): Promise<RedisProxy> {
    const proxy = new RedisProxy(Number(new URL(url).port));
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Breaks all connections in place of the next answer. Clients can connect again. */
  loseNext(): void {
    this.answer = () => {
      this.answer = (text) => text;
      for (const socket of this.#sockets) socket.destroy();
      return '';
    };
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(client: Socket): void {
    const server = connect(this.#target, '127.0.0.1');
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from);
      from.setNoDelay(true);
      from.on('error', () => {});
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
    client.on('data', (data) => {
      this.writes.push(data.toString('latin1'));
      server.write(data);
    });
    server.on('data', (data) => {
      const text = this.answer(data.toString('latin1'));
      if (text !== '') client.write(text, 'latin1');
    });
  }
}
