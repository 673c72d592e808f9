/** The server's side of a contestant: it listens on free ports, tells its addresses, and answers how much CPU time it has used. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** CPU time of the process in microseconds, all threads, user and system. */
const cpuTime = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

type ListenerFor = (issuer: string) => Promise<RequestListener> | RequestListener;

/** @param listeners what serves an issuer, for each issuer; an issuer is known once its port is. */
export async function serveAsChild(listeners: readonly ListenerFor[]): Promise<void> {
  process.on('message', () => process.send?.(cpuTime()));
  // Whatever becomes of the parent, no server is left behind.
  process.on('disconnect', () => process.exit());
  const issuers: string[] = [];
  for (const listenerFor of listeners) {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', await listenerFor(issuer));
    issuers.push(issuer);
  }
  process.send?.(issuers);
}
