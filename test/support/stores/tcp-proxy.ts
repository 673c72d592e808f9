/** A network between this process and a server. Tests can make the network fail. */
import { createServer, connect as open, type Socket } from 'node:net';
import { freePort } from '../service/free-port.js';

/** Held bytes: all, or only the server's, so that the server does its work but its answers do not arrive. */
type Held = 'both' | 'answers';

export interface TcpProxy {
  readonly port: number;
  /** Forwards again, including held bytes. */
  pass(): Promise<void>;
  /** Keeps connections open, and accepts new ones, but does not forward the held bytes, as if the server hung. */
  hang(held?: Held): void;
  /** Ends all connections and accepts no new ones, as if the server did not run. */
  refuse(): Promise<void>;
  /** Ends all connections, even in the middle of a message. New connections are forwarded as before. */
  cut(): void;
  close(): Promise<void>;
}

interface Connection {
  readonly client: Socket;
  readonly server: Socket;
}

/** Listens on a free port of this machine and forwards to `target`. */
export async function startTcpProxy(target: { readonly host: string; readonly port: number }): Promise<TcpProxy> {
  const connections = new Set<Connection>();
  let held: Held | undefined;

  const forward = ({ client, server }: Connection): void => {
    client.unpipe().pause();
    server.unpipe().pause();
    if (held !== 'both') client.pipe(server);
    if (held === undefined) server.pipe(client);
  };
  const end = ({ client, server }: Connection): void => {
    client.destroy();
    server.destroy();
  };

  const listener = createServer((client) => {
    const connection = { client, server: open(target) };
    connections.add(connection);
    for (const socket of [client, connection.server]) {
      socket.setNoDelay(true);
      socket.on('error', () => end(connection));
      socket.on('close', () => {
        end(connection);
        connections.delete(connection);
      });
    }
    forward(connection);
  });

  const listen = (port: number) => new Promise<void>((resolve) => listener.listen(port, '127.0.0.1', resolve));
  const stopListening = () => new Promise<void>((resolve) => listener.close(() => resolve()));
  const cut = () => {
    for (const connection of connections) end(connection);
  };
  const refuse = async () => {
    cut();
    if (listener.listening) await stopListening();
  };

  const port = await freePort();
  await listen(port);
  return {
    port,
    async pass() {
      held = undefined;
      for (const connection of connections) forward(connection);
      if (!listener.listening) await listen(port);
    },
    hang(what = 'both') {
      held = what;
      for (const connection of connections) forward(connection);
    },
    refuse,
    cut,
    close: refuse,
  };
}
