/** Several processes that serve one issuer over shared stores, behind a front that gives each request to the next process. */
import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { IdentityProviderOptions, Seed } from 'tenant-idp';
import { dropDatabase, makeDatabase } from '../stores/places.js';
import { runtimeWarning } from './example.js';

export interface NodesOptions {
  /** Default: 3. */
  readonly count?: number;
  /** URL of a Redis, MongoDB or PostgreSQL server, or URLs of a Redis Cluster with commas between. */
  readonly artifacts: string;
  /** URL of a MongoDB or PostgreSQL server. Default: a memory store in each node. These stores agree until a node writes. */
  readonly directory?: string;
  /** Name of the nodes' own database and prefix. Default: a random one. */
  readonly space?: string;
  readonly seed: Seed;
  /** Milliseconds that the clock of each node is ahead. Default: none. */
  readonly clocks?: readonly number[];
  /** Options that JSON can express. */
  readonly options?: Pick<IdentityProviderOptions, 'assertionAudience' | 'lifetimes' | 'limits' | 'oid'>;
}

export interface NodeSettings extends Omit<NodesOptions, 'count' | 'clocks'> {
  readonly issuer: string;
  readonly space: string;
}

/** Message of a node to the process that started it. */
export type FromNode = { readonly port: number } | { readonly logged: string };

/** Message to a node: milliseconds during which the node is too busy for anything else. */
export interface ToNode {
  readonly busyFor: number;
}

export interface Nodes {
  /** URL of the front. */
  readonly issuer: string;
  /** Lines of all nodes at warn and error, without the notice about development defaults. */
  readonly logged: readonly string[];
  /** URL of a node. */
  at(index: number): string;
  /** Sets the clock of a node that was started with `clocks`. */
  setClock(index: number, milliseconds: number): void;
  /** Kills a node by SIGKILL. The front gives the node no more requests. */
  kill(index: number): Promise<void>;
  /** Ends a node as an orchestrator does, by SIGTERM. @returns the code that it exits with. */
  end(index: number): Promise<number | null>;
  /** Keeps a node busy for so many milliseconds, without a pause. */
  block(index: number, milliseconds: number): void;
  /** Suspends a node, as an orchestrator or a debugger does, and resumes the node after so many milliseconds. */
  suspend(index: number, milliseconds: number): Promise<void>;
  /** Starts a node that was killed. @param clock milliseconds that its clock is ahead. Default: as at first. */
  start(index: number, clock?: number): Promise<void>;
  close(): Promise<void>;
}

export async function startNodes({ count = 3, clocks, ...options }: NodesOptions): Promise<Nodes> {
  const nodes = new Map<number, ChildProcess>();
  const ports = new Map<number, number>();
  const logged: string[] = [];
  const front = await startFront(() => [...ports.values()]);
  const servers = [...new Set([options.artifacts, options.directory])].filter(
    (url) => url !== undefined && !url.startsWith('redis'),
  ) as string[];
  const settings: NodeSettings = { space: `nodes-${randomUUID()}`, ...options, issuer: front.url };

  const start = async (index: number, clock = clocks?.[index] ?? 0) => {
    const node = fork(new URL('./node.js', import.meta.url), [JSON.stringify(settings)], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      ...(clocks
        ? {
            execArgv: [...process.execArgv, '--import', new URL('../time/shifted-clock.js', import.meta.url).href],
            env: { ...process.env, SHIFTED_CLOCK: `${clock}` },
          }
        : {}),
    });
    nodes.set(index, node);
    let complaints = '';
    node.stderr?.setEncoding('utf8').on('data', (text: string) => {
      complaints += text.replace(runtimeWarning, '');
    });
    const ended = once(node, 'exit').then(([code]) => Promise.reject(new Error(`A node ended with ${code}: ${complaints}`)));
    ended.catch(() => ports.delete(index));
    const listening = new Promise<number>((resolve) => {
      node.on('message', (message: FromNode) => {
        if ('port' in message) resolve(message.port);
        else if (!message.logged.includes('runs with development defaults')) logged.push(message.logged);
      });
    });
    ports.set(index, await Promise.race([listening, ended]));
  };
  const kill = async (index: number) => {
    const node = nodes.get(index);
    if (!node || node.exitCode !== null || node.signalCode !== null) return;
    const ended = once(node, 'exit');
    node.kill('SIGKILL');
    await ended;
  };
  const end = async (index: number) => {
    const node = nodes.get(index);
    if (!node) throw new Error(`no node ${index}`);
    const ended = once(node, 'exit');
    node.kill('SIGTERM');
    return (await ended)[0] as number | null;
  };
  const block = (index: number, busyFor: number) => void nodes.get(index)?.send({ busyFor } satisfies ToNode);
  const suspend = async (index: number, milliseconds: number) => {
    nodes.get(index)?.kill('SIGSTOP');
    await sleep(milliseconds);
    nodes.get(index)?.kill('SIGCONT');
  };
  const close = async () => {
    front.close();
    await Promise.all([...nodes.keys()].map(kill));
    for (const url of servers) await dropDatabase(url, settings.space);
  };

  try {
    for (const url of servers) await makeDatabase(url, settings.space);
    // Nodes start concurrently, as in a deployment.
    await Promise.all(Array.from({ length: count }, (_, index) => start(index)));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    issuer: front.url,
    logged,
    at: (index) => `http://127.0.0.1:${ports.get(index)}`,
    setClock: (index, clock) => void nodes.get(index)?.send({ clock }),
    kill,
    end,
    block,
    suspend,
    start,
    close,
  };
}

/** Starts a load balancer. Each request goes to the next port, or to another port if nobody listens there. */
async function startFront(ports: () => readonly number[]): Promise<{ readonly url: string; close(): void }> {
  const agent = new Agent({ keepAlive: true });
  let turn = 0;
  const forward = (incoming: IncomingMessage, outgoing: ServerResponse, body: Buffer, refused: readonly number[] = []): void => {
    const all = ports().filter((port) => !refused.includes(port));
    const port = all[turn++ % all.length];
    const { method, url, headers } = incoming;
    const fail = () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end());
    if (port === undefined) return void fail();
    const upstream = request({ agent, host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.on('error', fail).pipe(outgoing);
    });
    upstream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') forward(incoming, outgoing, body, [...refused, port]);
      else fail();
    });
    upstream.end(body);
  };
  const server = createServer(async (incoming, outgoing) => {
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part as Buffer);
    forward(incoming, outgoing, Buffer.concat(parts));
  });
  server.keepAliveTimeout = 0; // closing a connection while a request arrives would look like a failure
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      agent.destroy();
      server.closeAllConnections();
      server.close();
    },
  };
}
