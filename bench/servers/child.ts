/** Server side of a contestant. The server listens on free ports, reports its addresses, and returns the CPU time that it has used. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Returns the CPU time of the process in microseconds: all threads, user and system. */
const cpuTime = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

/** Milliseconds for which a connection may wait. Connections of a contestant wait while other contestants are prepared or measured. */
const KEEP_ALIVE_MS = 600_000;

type ListenerFor = (issuer: string) => Promise<RequestListener> | RequestListener;

/** @param listeners create the listener of each issuer. An issuer is known when its port is known. */
export async function serveAsChild(listeners: readonly ListenerFor[]): Promise<void> {
  process.on('message', () => process.send?.(cpuTime()));
  // No server survives its parent process.
  process.on('disconnect', () => process.exit());
  const issuers: string[] = [];
  for (const listenerFor of listeners) {
    const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('request', await listenerFor(issuer));
    issuers.push(issuer);
  }
  process.send?.(issuers);
}
