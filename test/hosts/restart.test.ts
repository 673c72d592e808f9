/** A restart that loses no request: the answers of a process from SIGTERM on, and the drain of a host's own server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, Agent as HttpAgent, type IncomingMessage, request } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { createDrain } from 'tenant-idp';
import { MARK } from '../servers/reaper.js';
import { isRefused } from '../support/client/raw-request.js';
import { until } from '../support/time/until.js';

interface Answered {
  readonly status: number;
  readonly connection: string | undefined;
}

/** Sends a request by an agent. */
const ask = (port: number, agent: HttpAgent, { path = '/.well-known/openid-configuration', method = 'GET', body = '' } = {}) =>
  new Promise<Answered>((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', path, method, agent }, (answer: IncomingMessage) => {
      answer.resume().once('end', () => resolve({ status: answer.statusCode ?? 0, connection: answer.headers.connection }));
    });
    sent.on('error', reject).end(body);
  });

/** Starts a process with `idp.listen()`, which ends by SIGTERM as docs/operate.md says. */
async function startProcess(): Promise<{ readonly child: ChildProcess; readonly port: number; readonly ended: Promise<unknown[]> }> {
  const root = new URL('../..', import.meta.url);
  const code = `
    import { createIdentityProvider } from '${new URL('lib/index.js', root).href}';
    const idp = await createIdentityProvider({
      issuer: 'http://localhost:3000',
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      extensions: [{ name: 'slow', routes(router) {
        router.get('/idp/slow', async (ctx) => { console.log('slow'); await new Promise((end) => setTimeout(end, 1000)); ctx.body = 'done'; });
        router.get('/idp/endless', async (ctx) => { console.log('slow'); await new Promise((end) => setTimeout(end, 60_000)); ctx.body = 'done'; });
      } }],
    });
    const server = await idp.listen(0, '127.0.0.1');
    process.once('SIGTERM', () => void idp.close());
    console.log('port ' + server.address().port);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    env: { PATH: process.env.PATH ?? '', [MARK]: process.env[MARK] },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  let out = '';
  child.stdout?.setEncoding('utf8').on('data', (part: string) => {
    out += part;
  });
  await until(() => /port \d+/.test(out));
  return { child, port: Number(/port (\d+)/.exec(out)?.[1]), ended };
}

describe('from SIGTERM on, with idp.listen()', () => {
  test('requests on kept-alive connections are answered, each answer closes its connection, and the process ends', async () => {
    const { child, port, ended } = await startProcess();
    const callers = Array.from({ length: 40 }, () => new HttpAgent({ keepAlive: true, maxSockets: 1 }));
    const idle = new HttpAgent({ keepAlive: true });
    await ask(port, idle);
    const failures: string[] = [];
    let told = 0;
    const call = async (agent: HttpAgent): Promise<void> => {
      for (;;) {
        const answer = await ask(port, agent).catch((error: NodeJS.ErrnoException) => error);
        if (answer instanceof Error) {
          // New connections alone are refused, and every load balancer takes these to another node.
          if (answer.code !== 'ECONNREFUSED') failures.push(String(answer.code));
          return;
        }
        if (answer.connection === 'close') told += 1;
        await sleep(Math.random() * 20);
      }
    };
    const calling = callers.map(call);
    await sleep(300);
    const slow = ask(port, new HttpAgent({ keepAlive: true }), { path: '/idp/slow' });
    // A browser may open a connection before it needs one.
    const unused = connect(port, '127.0.0.1').on('error', (error) => failures.push(`unused: ${error}`));
    await once(unused, 'connect');
    await sleep(100);
    child.kill('SIGTERM');
    await Promise.all(calling);
    expect(failures).toEqual([]);
    // A connection that is new when the drain begins may add one.
    expect(told).toBeGreaterThanOrEqual(callers.length);
    expect(await slow).toEqual({ status: 200, connection: 'close' });
    expect(await ended).toEqual([0, null]);
    for (const agent of [...callers, idle]) agent.destroy();
  });

  test('a second signal ends the process immediately', async () => {
    const { child, port, ended } = await startProcess();
    const cut = ask(port, new HttpAgent(), { path: '/idp/endless' });
    const failed = expect(cut).rejects.toMatchObject({ code: 'ECONNRESET' });
    await sleep(200);
    child.kill('SIGTERM');
    // A process that refuses connections has begun to end.
    await until(() => isRefused(port));
    child.kill('SIGTERM');
    expect(await ended).toEqual([null, 'SIGTERM']);
    await failed;
  });
});

describe('a server of the host', () => {
  test('a connection that is idle when the drain begins serves the request that is on its way', async () => {
    const server = createServer((_req, res) => res.end('ok'));
    const drain = createDrain(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 });
    expect((await ask(port, agent)).connection).toBe('keep-alive');
    const drained = drain();
    expect(drain()).toBe(drained);
    await until(() => isRefused(port));
    expect(await ask(port, agent)).toEqual({ status: 200, connection: 'close' });
    await drained;
    await expect(ask(port, agent)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  test('HTTP/2: the peer is told by GOAWAY, and its open streams are answered', async () => {
    const waiting: (() => void)[] = [];
    const server = createHttp2Server((_req, res) => void waiting.push(() => res.end('ok')));
    const drain = createDrain(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const client = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const goneAway = once(client, 'goaway');
    const stream = client.request({ ':path': '/' });
    const answered = once(stream, 'response');
    await until(() => waiting.length === 1);
    const drained = drain();
    expect((await goneAway)[0]).toBe(0);
    for (const answer of waiting) answer();
    expect((await answered)[0]).toMatchObject({ ':status': 200 });
    stream.resume();
    await drained;
    client.close();
  });
});
