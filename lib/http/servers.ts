import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';

/** Servers of our own, until they are closed together. */
export interface Servers {
  /** Rejects when the port cannot be had. */
  listen(port: number, host?: string): Promise<Server>;
  /** Accepts nothing more; resolves when every request was answered. */
  close(): Promise<void>;
}

/** What one connection may cost that sends slowly or too much. Times are in milliseconds. */
const settings = {
  headersTimeout: 10_000,
  requestTimeout: 15_000,
  // By default Node looks twice a minute, and a slow request has so much longer.
  connectionsCheckingInterval: 1_000,
  // Longer than a proxy keeps its connections, else it sends a request on one that we are just closing.
  keepAliveTimeout: 125_000,
  maxHeaderSize: 16_384,
} as const satisfies ServerOptions;

const MAX_CONNECTIONS = 10_000;

export function createServers(listener: RequestListener): Servers {
  const servers = new Set<Server>();
  let closing = false;

  return {
    async listen(port, host) {
      const server = createServer(settings, (req, res) => {
        // A connection that is kept alive would hold the close up until it times out.
        res.once('close', () => closing && setImmediate(() => server.closeIdleConnections()));
        listener(req, res);
      });
      server.maxConnections = MAX_CONNECTIONS;
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject).listen(port, host, () => {
          server.off('error', reject);
          resolve();
        });
      });
      servers.add(server);
      return server;
    },
    async close() {
      closing = true;
      const closed = [...servers].map(
        (server) =>
          new Promise<void>((resolve) => {
            server.close(() => resolve());
            server.closeIdleConnections();
          }),
      );
      servers.clear();
      await Promise.all(closed);
    },
  };
}
