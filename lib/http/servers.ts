import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createDrain } from './drain.js';

/** Servers of the service itself. All servers are closed together. */
export interface Servers {
  /** Starts a server. Rejects if the port cannot be opened. */
  listen(port: number, host?: string): Promise<Server>;
  /** Drains all servers, as {@link createDrain} does. */
  close(): Promise<void>;
}

/** Limits of a connection that sends slowly or too much. Times are in milliseconds. */
const settings = {
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  // By default, Node checks twice a minute, so a slow request could last that much longer.
  connectionsCheckingInterval: 1_000,
  // Longer than a proxy keeps its connections. Otherwise the proxy may send a request on a connection that the service is closing.
  keepAliveTimeout: 125_000,
  maxHeaderSize: 16_384,
} as const satisfies ServerOptions;

const MAX_CONNECTIONS = 10_000;

export function createServers(listener: RequestListener): Servers {
  const drains = new Set<() => Promise<void>>();
  return {
    async listen(port, host) {
      const server = createServer(settings, listener);
      server.maxConnections = MAX_CONNECTIONS;
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject).listen(port, host, () => {
          server.off('error', reject);
          resolve();
        });
      });
      drains.add(createDrain(server));
      return server;
    },
    async close() {
      await Promise.all([...drains].map((drain) => drain()));
    },
  };
}
