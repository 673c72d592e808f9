/** Ports for servers that are restarted on the same port, and for processes that are told their port. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Range below the ports that systems give to connections, because a connection may take a port that was free a moment ago. */
const PORTS = { from: 20_000, count: 12_000 };
let lastPort = process.pid * 997;

/**
 * Reserves the port until this process ends, so that no other process of the tests takes the port while its server is stopped. The
 * reservation is a UDP socket, which excludes every other reservation, and no TCP server.
 */
async function isReserved(port: number): Promise<boolean> {
  const socket = createSocket('udp4').unref();
  const isMine = once(socket, 'listening').then(
    () => true,
    () => false,
  );
  socket.bind({ port, address: '127.0.0.1', exclusive: true });
  if (!(await isMine)) socket.close();
  return isMine;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port);
  const isListening = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (isListening) await new Promise((resolve) => server.close(resolve));
  return isListening;
}

/** Returns a port on which nobody listens, and that no other caller gets while this process runs. */
export async function freePort(): Promise<number> {
  for (;;) {
    lastPort += 1;
    const port = PORTS.from + (lastPort % PORTS.count);
    if ((await isReserved(port)) && (await isFree(port))) return port;
  }
}
