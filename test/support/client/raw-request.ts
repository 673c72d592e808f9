/** Requests as no browser would send them: any request line, any header, any bytes. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

export interface RawAnswer {
  readonly status: number;
  /** Status line and headers. */
  readonly head: string;
  readonly body: string;
}

/**
 * Sends lines as they are to the origin and reads until it hangs up. A server that answers without having read the body hangs up with a reset, which
 * takes the answer along when this process has not read it yet: then the request is sent again, a few times.
 */
export async function rawRequest(origin: string, lines: readonly string[], body = ''): Promise<RawAnswer> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt(origin, lines, body);
    } catch (error) {
      if (body === '' || attempts === 5 || (error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
    }
  }
}

async function attempt(origin: string, lines: readonly string[], body: string): Promise<RawAnswer> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const answer = text(socket);
  socket.write(`${[...lines, 'Connection: close', `Content-Length: ${Buffer.byteLength(body)}`].join('\r\n')}\r\n\r\n${body}`);
  const all = await answer;
  const end = all.indexOf('\r\n\r\n');
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(all)?.[1]), head: all.slice(0, end), body: all.slice(end + 4) };
}
