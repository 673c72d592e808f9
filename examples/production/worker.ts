/** One of the nodes behind the port. */
import cluster from 'node:cluster';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { createDrain } from 'tenant-idp';
import { complaint } from './complaint.js';
import { openService, type Service } from './service.js';
import { readSettings, type Settings } from './settings.js';

/** Serves until the process gets a signal to end. Resolves when the process serves. */
async function serve({ host, port }: Settings, { idp, close }: Service): Promise<void> {
  const answer = idp.callback();
  let requests = 0;
  let ending = false;

  async function answerHealth(res: ServerResponse): Promise<void> {
    const health = await idp.health();
    res.writeHead(health.status === 'up' && !ending ? 200 : 503, { 'content-type': 'application/json', 'cache-control': 'no-store' });
    res.end(JSON.stringify({ ...health, process: process.pid, requests }));
  }

  const server = createServer((req, res) => {
    // Answers whether to send requests to this process, and whether to restart the process. New processes do not help if a store is unavailable.
    if (req.url === '/healthz') return void answerHealth(res);
    if (req.url === '/livez') return void res.writeHead(200, { 'cache-control': 'no-store' }).end();
    requests += 1;
    return answer(req, res, () => res.writeHead(404).end());
  });
  server.headersTimeout = 10_000;
  server.requestTimeout = 15_000;
  // Longer than a proxy keeps its connections. Otherwise the proxy could send a request on a connection that is being closed.
  server.keepAliveTimeout = 125_000;
  const drain = createDrain(server);

  async function end(): Promise<void> {
    if (ending) return;
    ending = true;
    await drain();
    await close();
    cluster.worker?.disconnect();
  }
  await once(server.listen(port, host), 'listening');
  process.on('SIGTERM', () => void end());
}

// Ctrl-C reaches all processes. The primary process ends this process.
process.on('SIGINT', () => {});
try {
  const settings = readSettings();
  await serve(settings, await openService(settings));
} catch (error) {
  console.error(complaint(error));
  process.exit(1);
}
