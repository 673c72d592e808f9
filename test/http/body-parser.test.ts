/** Bodies of requests: a parser that the first requests with a body load. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import Koa from 'koa';
import { createBodyParser } from '../../lib/http/requests/body-parser.js';

let server: Server | undefined;
afterEach(() => {
  server?.close();
});

/** Starts a server that answers with the body that it read. No request has loaded its parser yet. Returns its URL. */
async function startReading(): Promise<string> {
  const app = new Koa();
  const parser = createBodyParser({
    types: ['application/x-www-form-urlencoded'],
    maxKilobytes: 1,
    parse: (body) => Object.fromEntries(new URLSearchParams(body.toString())),
    onError() {
      throw Object.assign(new Error('undecodable'), { status: 400, expose: true });
    },
  });
  app.use(parser).use((ctx) => {
    ctx.body = { read: ctx.request.body };
  });
  const listening = createServer(app.callback()).listen(0, '127.0.0.1');
  server = listening;
  await once(listening, 'listening');
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
}

const headers = { 'content-type': 'application/x-www-form-urlencoded' };

test('what cannot be decoded is refused as the parser was told, also after the first two bodies came at once', async () => {
  const url = await startReading();
  const post = (more = {}) => fetch(url, { method: 'POST', body: 'a=b', headers: { ...headers, ...more } });
  const first = await Promise.all([post(), post()]);
  expect(await Promise.all(first.map((answer) => answer.json()))).toEqual([{ read: { a: 'b' } }, { read: { a: 'b' } }]);
  const answer = await post({ 'content-encoding': 'gzip' });
  expect([answer.status, await answer.text()]).toEqual([400, 'undecodable']);
});

test('RFC 9112 §6.3: a request without a body has an empty one', async () => {
  const url = await startReading();
  for (const init of [{}, { headers }, { method: 'POST', headers }]) expect(await (await fetch(url, init)).json()).toEqual({ read: {} });
});
