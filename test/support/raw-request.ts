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

/** Sends lines as they are to the origin and reads until it hangs up. */
export async function rawRequest(origin: string, lines: readonly string[], body = ''): Promise<RawAnswer> {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const answer = text(socket);
  socket.write(`${[...lines, 'Connection: close', `Content-Length: ${Buffer.byteLength(body)}`].join('\r\n')}\r\n\r\n${body}`);
  const all = await answer;
  const end = all.indexOf('\r\n\r\n');
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(all)?.[1]), head: all.slice(0, end), body: all.slice(end + 4) };
}
