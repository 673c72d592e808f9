/** Requests as no browser would send them: any request line, any header, any bytes. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setImmediate } from 'node:timers/promises';

export interface RawAnswer {
  readonly status: number;
  /** Status line and headers. */
  readonly head: string;
  readonly body: string;
}

/** Bytes to write before reading an answer. */
const PIECE = 65_536;

/**
 * Sends lines as they are to the origin and reads until the server hangs up. A server that answers without having read the body hangs up
 * with a reset. The reset drops an answer that this process has not read yet. Then the request is retried, at most four times.
 */
export async function rawRequest(origin: string, lines: readonly string[], body: string | Uint8Array = ''): Promise<RawAnswer> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt(origin, lines, body);
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (body.length === 0 || attempts === 5 || !['ECONNRESET', 'EPIPE'].includes(code)) throw error;
    }
  }
}

async function attempt(origin: string, lines: readonly string[], body: string | Uint8Array): Promise<RawAnswer> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const received: Buffer[] = [];
  socket.on('data', (part: Buffer) => received.push(part));
  const ended = once(socket, 'end');
  ended.catch(() => {});
  const head = [...lines, 'Connection: close', `Content-Length: ${Buffer.byteLength(body)}`].join('\r\n');
  const bytes = Buffer.concat([Buffer.from(`${head}\r\n\r\n`), Buffer.from(body as string)]);
  try {
    // Bytes that are written after the answer would meet a closed connection.
    for (let at = 0; at < bytes.length && received.length === 0; at += PIECE) {
      if (!socket.write(bytes.subarray(at, at + PIECE))) await Promise.race([once(socket, 'drain'), ended]);
      await setImmediate();
    }
    await ended;
  } catch (error) {
    if (!isWhole(received)) throw error;
  }
  socket.destroy();
  return answerIn(received);
}

function answerIn(received: readonly Buffer[]): RawAnswer {
  const all = Buffer.concat(received).toString();
  const end = all.indexOf('\r\n\r\n');
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(all)?.[1]), head: all.slice(0, end), body: all.slice(end + 4) };
}

/** Whether nothing of the answer was lost with the connection. */
function isWhole(received: readonly Buffer[]): boolean {
  const { head, body } = answerIn(received);
  const length = /^content-length: (\d+)$/im.exec(head)?.[1];
  return length !== undefined && Buffer.byteLength(body) >= Number(length);
}

/** Whether nobody listens at a port of this machine. */
export const isRefused = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
      .once('connect', () => {
        resolve(false);
        socket.destroy();
      })
      .on('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED'));
  });
