import { createServer, type RequestListener, type Server } from 'node:http';

/** Servers of our own, until they are closed together. */
export interface Servers {
  /** Rejects when the port cannot be had. */
  listen(port: number, host?: string): Promise<Server>;
  /** Accepts nothing more; resolves when every request was answered. */
  close(): Promise<void>;
}

export function createServers(listener: RequestListener): Servers {
  const servers = new Set<Server>();
  let closing = false;

  return {
    async listen(port, host) {
      const server = createServer((req, res) => {
        // A connection that is kept alive would hold the close up until it times out.
        res.once('close', () => closing && setImmediate(() => server.closeIdleConnections()));
        listener(req, res);
      });
      server.requestTimeout = 15_000;
      server.headersTimeout = 10_000;
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
