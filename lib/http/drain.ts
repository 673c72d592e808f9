/** Draining of a server: a restart behind a load balancer loses no request. */
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import type { Http2SecureServer, Http2Server, Http2ServerRequest, Http2ServerResponse, ServerHttp2Session } from 'node:http2';
import type { Server as HttpsServer } from 'node:https';
import { Server as NetServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Maximum milliseconds in which the node accepts the connections that wait in the kernel. */
const ACCEPT_MS = 1_000;
/** Maximum milliseconds of a calm turn of the event loop. A calm turn is so short that probably no connection has arrived since the last check. */
const CALM_TURN_MS = 1;
/** Milliseconds that a connection without a request stays, because its next request may be on its way. */
const IDLE_MS = 2_000;
/** Milliseconds after which requests that have not ended are cut off. */
const LIMIT_MS = 10_000;
/** Milliseconds between two checks of the connections. */
const LOOK_MS = 100;
/** The highest id of a stream. In `GOAWAY`, this id states that every open stream is still answered. @see RFC 9113 §6.8 */
const LAST_STREAM = 2 ** 31 - 1;

/** A server of Node: `node:http`, `node:https` or `node:http2`. */
export type DrainableServer = HttpServer | HttpsServer | Http2Server | Http2SecureServer;

type Answer = ServerResponse | Http2ServerResponse;

/**
 * Prepares a server for its end. Call `createDrain` where the server is created. When the process has to end, call the returned function, then
 * `idp.close()`.
 *
 * After that call, the server accepts no new connection, and each answer closes its connection (HTTP/2: `GOAWAY`). A connection without a request is
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
  // Runs before the listener of the host, because the host may answer immediately.
  events.prependListener('request', (_req: IncomingMessage | Http2ServerRequest, answer: Answer) => {
    answers.add(answer);
    (answer as ServerResponse).once('close', () => answers.delete(answer));
    if (isDraining) closeAfter(answer);
  });

  /** Accepts the connections that the kernel has accepted and the node has not yet accepted, because `close()` would reset these connections. */
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
    // `close()` of `node:http` would also close idle connections, on which a request may be arriving.
    const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
    // The port is closed now. Clients open a new connection when their connection is closed, and this node must not get the new connection.
    answers.forEach(closeAfter);
    sessions.forEach(leave);
    const since = performance.now();
    const timer = setInterval(() => {
      const milliseconds = performance.now() - since;
      // `setImmediate` lets Node read the data that has arrived, so that a connection with a new request does not count as idle.
      if (milliseconds >= IDLE_MS) setImmediate(closeIdle);
      if (milliseconds >= LIMIT_MS) for (const one of [...sessions, ...sockets]) one.destroy();
    }, LOOK_MS);
    await closed;
    clearInterval(timer);
    // Stops the timers of `node:http` for slow connections, because `NetServer.prototype.close` does not stop them.
    // An import of `node:http` would make Node load its HTTP client for every program that imports this package.
    if (server instanceof process.getBuiltinModule('node:http').Server) server.close(() => {});
  }

  function closeIdle(): void {
    for (const session of sessions) if (!session.closed) session.close();
    if ('closeIdleConnections' in server) (server as HttpServer).closeIdleConnections();
    // Browsers open connections before they need them. Node does not count these connections as idle.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  }

  return () => {
    draining ??= drain();
    return draining;
  };
}

/** Closes the connection of an answer after the answer. */
function closeAfter(answer: Answer): void {
  if (!answer.headersSent && 'shouldKeepAlive' in answer) answer.setHeader('Connection', 'close');
}

/** Notifies the peer to open no new stream. Streams that are open or on their way are answered. */
function leave(session: ServerHttp2Session): void {
  if (!session.closed && !session.destroyed) session.goaway(0, LAST_STREAM);
}
