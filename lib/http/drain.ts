/** The end of a server that loses no request: for a restart behind a load balancer. */
import { Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Http2SecureServer, Http2Server, Http2ServerRequest, Http2ServerResponse, ServerHttp2Session } from 'node:http2';
import type { Server as HttpsServer } from 'node:https';
import { Server as NetServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Milliseconds in which the process accepts what the kernel has taken, at most. */
const ACCEPT_MS = 1_000;
/** Milliseconds of a turn of the event loop in which so little happens that hardly a connection can have come since it looked. */
const CALM_TURN_MS = 1;
/** Milliseconds that a connection without a request stays, because its next request may be on its way. */
const IDLE_MS = 2_000;
/** Milliseconds after which requests that have not ended are cut off. */
const LIMIT_MS = 10_000;
/** How often connections are looked at, in milliseconds. */
const LOOK_MS = 100;
/** The highest id of a stream: every stream of the session is still answered. @see RFC 9113 §6.8 */
const LAST_STREAM = 2 ** 31 - 1;

/** A server of Node: `node:http`, `node:https` or `node:http2`. */
export type DrainableServer = HttpServer | HttpsServer | Http2Server | Http2SecureServer;

type Answer = ServerResponse | Http2ServerResponse;

/**
 * Prepares a server for its end. Call it where the server is made, and call the function that it returns when the process is told to end, before
 * `idp.close()`.
 *
 * From then on, the server accepts no new connection, and each answer closes its connection (HTTP/2: `GOAWAY`). A connection without a request is
 * closed after 2 seconds. A request that has not ended after 10 seconds is cut off.
 * @returns a function that resolves when every connection is closed.
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import { createDrain, createIdentityProvider } from 'tenant-idp';
 *
 * const idp = await createIdentityProvider({ issuer: 'http://localhost:3000' });
 * const server = createServer(idp.callback()).listen(3000);
 * const drain = createDrain(server);
 * process.once('SIGTERM', () => void drain().then(idp.close));
 * ```
 */
export function createDrain(server: DrainableServer): () => Promise<void> {
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  const answers = new Set<Answer>();
  let draining: Promise<void> | undefined;
  let isDraining = false;
  let accepted = 0;

  const kept =
    <T extends Socket | ServerHttp2Session>(all: Set<T>) =>
    (one: T) => {
      all.add(one);
      one.once('close', () => all.delete(one));
      if (isDraining && 'goaway' in one) leave(one);
    };
  const events = server as NetServer;
  events.on('connection', kept(sockets));
  events.on('connection', () => {
    accepted += 1;
  });
  events.on('session', kept(sessions));
  // Before the listener of the host, which may answer immediately.
  events.prependListener('request', (_req: IncomingMessage | Http2ServerRequest, answer: Answer) => {
    answers.add(answer);
    (answer as ServerResponse).once('close', () => answers.delete(answer));
    if (isDraining) closeAfter(answer);
  });

  /** Accepts the connections that the kernel has taken and the process has not yet, because `close()` would reset them. */
  async function acceptPending(): Promise<void> {
    const since = performance.now();
    await nextTurn();
    while (performance.now() - since < ACCEPT_MS) {
      const [before, begun] = [accepted, performance.now()];
      await nextTurn();
      if (accepted === before && performance.now() - begun < CALM_TURN_MS) return;
    }
  }

  async function drain(): Promise<void> {
    await acceptPending();
    isDraining = true;
    // `close()` of `node:http` would close idle connections as well, on which a request may be coming in.
    const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
    // Only now, because clients whose connection is closed open another one.
    answers.forEach(closeAfter);
    sessions.forEach(leave);
    const since = performance.now();
    const timer = setInterval(() => {
      const milliseconds = performance.now() - since;
      // After what has come in by now was read.
      if (milliseconds >= IDLE_MS) setImmediate(closeIdle);
      if (milliseconds >= LIMIT_MS) for (const one of [...sessions, ...sockets]) one.destroy();
    }, LOOK_MS);
    await closed;
    clearInterval(timer);
    // Ends the timers that are left.
    if (server instanceof HttpServer) server.close(() => {});
  }

  function closeIdle(): void {
    for (const session of sessions) if (!session.closed) session.close();
    if ('closeIdleConnections' in server) (server as HttpServer).closeIdleConnections();
    // Browsers open connections that they may not use.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  }

  return () => {
    draining ??= drain();
    return draining;
  };
}

/** The connection of an answer has no other request after it. */
function closeAfter(answer: Answer): void {
  if (!answer.headersSent && 'shouldKeepAlive' in answer) answer.setHeader('Connection', 'close');
}

/** The peer opens no other stream; those that are on their way are answered. */
function leave(session: ServerHttp2Session): void {
  if (!session.closed && !session.destroyed) session.goaway(0, LAST_STREAM);
}
