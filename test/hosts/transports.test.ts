/** Bodies of requests: each transport that Node serves, with a length or without, at each kind of endpoint that takes a body. */

import { createServer, request as httpRequest, type RequestListener, type Server } from 'node:http';
import { type ClientHttp2Session, connect, createServer as createHttp2Server, createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import express from 'express';
import Koa from 'koa';
import bodyParser from 'koa-bodyparser';
import type { IdentityProvider } from 'tenant-idp';
import { adminSeed, adminToken } from '../support/administration/admin.js';
import { testTls } from '../support/browser/tls.js';
import { basic, createPkce, obtainTokens } from '../support/client/agent.js';
import { plainType, unusualType } from '../support/requests/both-doors.js';
import { startIdp, type TestIdp } from '../support/service/idp.js';
import { redirectUri } from '../support/service/seed.js';
import { cibaClient } from '../support/sign-in/ciba.js';

type Headers = Readonly<Record<string, string>>;
interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: Buffer;
}
interface Answer {
  readonly status: number;
  readonly location: string;
  readonly body: string;
}
const PIECES = 5;
const pieces = (body: Buffer): Buffer[] => {
  const size = Math.max(1, Math.ceil(body.length / PIECES));
  return Array.from({ length: Math.ceil(body.length / size) }, (_, at) => body.subarray(at * size, (at + 1) * size));
};
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Sends by HTTP/1.1. */
function overHttp1(port: number, { method, path, headers, body }: Sent, how: 'length' | 'chunked' | 'continue' | 'slow'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const own: Record<string, string> =
      how === 'chunked' || how === 'slow' ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(body.length) };
    const expects = how === 'continue' ? { expect: '100-continue' } : {};
    const request = httpRequest({ port, host: '127.0.0.1', method, path, headers: { ...headers, ...own, ...expects } }, (response) => {
      textOf(response).then(
        (text) => resolve({ status: response.statusCode ?? 0, location: response.headers.location ?? '', body: text }),
        reject,
      );
    });
    request.on('error', reject);
    const send = async (): Promise<void> => {
      if (how === 'length') return void request.end(body);
      for (const piece of pieces(body)) {
        request.write(piece);
        await pause(how === 'slow' ? 40 : 1);
      }
      request.end();
    };
    if (how === 'continue') request.on('continue', () => void request.end(body)).flushHeaders();
    else void send();
  });
}

/** Sends by HTTP/2, with a length or without. */
function overHttp2(session: ClientHttp2Session, { method, path, headers, body }: Sent, hasLength: boolean): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': method,
      ':path': path,
      ...headers,
      ...(hasLength && { 'content-length': String(body.length) }),
    });
    let head: Record<string, unknown> = {};
    stream.on('response', (given) => {
      head = given;
    });
    stream.on('error', reject);
    textOf(stream).then((text) => resolve({ status: Number(head[':status']), location: String(head.location ?? ''), body: text }), reject);
    void (async () => {
      for (const piece of pieces(body)) {
        stream.write(piece);
        await pause(1);
      }
      stream.end();
    })();
  });
}

let started: TestIdp;
const servers: { close(): unknown }[] = [];
const sessions: ClientHttp2Session[] = [];
/** Serves the service on one more port, whatever the issuer says. */
async function serve(server: Pick<Server, 'listen' | 'address' | 'close'>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  servers.push(server);
  return (server.address() as AddressInfo).port;
}
const expressHost = (idp: IdentityProvider): RequestListener =>
  express().use(express.json(), express.urlencoded({ extended: true }), idp.callback());
const koaHost = (idp: IdentityProvider): RequestListener => {
  const app = new Koa();
  app.use(bodyParser()).use(idp.middleware());
  return app.callback();
};

let port = 0;
let ports: Readonly<Record<'express' | 'koa' | 'body', number>>;
let cleartext: ClientHttp2Session;
let secure: ClientHttp2Session;
let admin = '';
let accessToken = '';
let idToken = '';
beforeAll(async () => {
  started = await startIdp({ seed: { ...adminSeed, clients: [...adminSeed.clients, cibaClient('asks')] } as never });
  const { idp, issuer } = started;
  const callback = idp.callback();
  port = await serve(createServer(callback));
  const early: RequestListener = async (request, response) => {
    Object.assign(request, { body: await textOf(request) });
    callback(request, response);
  };
  ports = {
    express: await serve(createServer(expressHost(idp))),
    koa: await serve(createServer(koaHost(idp))),
    body: await serve(createServer(early)),
  };
  const h2c = await serve(createHttp2Server(callback as never) as never);
  const h2 = await serve(createSecureServer({ ...testTls, allowHTTP1: true }, callback as never) as never);
  cleartext = connect(`http://127.0.0.1:${h2c}`);
  secure = connect(`https://127.0.0.1:${h2}`, { rejectUnauthorized: false });
  sessions.push(cleartext, secure);
  const { tokens } = await obtainTokens(issuer);
  accessToken = tokens.access_token;
  idToken = tokens.id_token;
  admin = await adminToken(issuer, 'root');
});
afterAll(async () => {
  for (const session of sessions) session.destroy();
  for (const server of servers) server.close();
  await started?.close();
});

const form = (fields: Record<string, string>) => Buffer.from(new URLSearchParams(fields).toString());
const by = (id: string, secret = `${id}-secret`): Headers => ({ authorization: basic(id, secret) });
const { challenge } = createPkce();
const authorize = {
  client_id: 'web',
  response_type: 'code',
  redirect_uri: redirectUri,
  scope: 'openid',
  state: 's',
  code_challenge: challenge,
  code_challenge_method: 'S256',
};

const post =
  (path: string, fields: () => Record<string, string>, headers: () => Headers = () => ({}), type = plainType) =>
  (): Sent => ({
    method: 'POST',
    path,
    headers: { 'content-type': type, ...headers() },
    body: form(fields()),
  });
const credentials = { grant_type: 'client_credentials', scope: 'orders.read' };
const endpoints: Readonly<Record<string, () => Sent>> = {
  token: post(
    '/connect/token',
    () => credentials,
    () => by('service'),
  ),
  'token by the other door': post(
    '/connect/token',
    () => credentials,
    () => by('service'),
    unusualType,
  ),
  'token, the secret in the body': post('/connect/token', () => ({
    ...credentials,
    client_id: 'service',
    client_secret: 'service-secret',
  })),
  PAR: post(
    '/connect/par',
    () => authorize,
    () => by('web'),
  ),
  introspection: post(
    '/connect/introspect',
    () => ({ token: accessToken }),
    () => by('web'),
  ),
  revocation: post(
    '/connect/revocation',
    () => ({ token: 'unknown' }),
    () => by('web'),
  ),
  userinfo: post('/connect/userinfo', () => ({ access_token: accessToken })),
  authorize: post('/connect/authorize', () => authorize),
  'end session': post('/connect/endsession', () => ({ id_token_hint: idToken })),
  decoupled: post(
    '/connect/ciba',
    () => ({ scope: 'openid', login_hint: 'nobody@nowhere.test' }),
    () => by('asks'),
  ),
  'admin API': () => ({
    method: 'POST',
    path: '/idp/api/v1/permissions',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${admin}`, accept: 'application/json' },
    body: Buffer.from(JSON.stringify({ id: 'no spaces in ids', name: 'Æ' })),
  }),
};

const transports: Readonly<Record<string, (sent: Sent) => Promise<Answer>>> = {
  'HTTP/1.1, chunked': (sent) => overHttp1(port, sent, 'chunked'),
  'HTTP/1.1, slowly': (sent) => overHttp1(port, sent, 'slow'),
  'HTTP/1.1, Expect: 100-continue': (sent) => overHttp1(port, sent, 'continue'),
  'HTTP/2 without TLS': (sent) => overHttp2(cleartext, sent, false),
  'HTTP/2 without TLS, with a length': (sent) => overHttp2(cleartext, sent, true),
  'HTTP/2 by TLS': (sent) => overHttp2(secure, sent, false),
  'HTTP/2 by TLS, with a length': (sent) => overHttp2(secure, sent, true),
  'read before by Express': (sent) => overHttp1(ports.express, sent, 'chunked'),
  'read before by Koa': (sent) => overHttp1(ports.koa, sent, 'chunked'),
  'read before as a text': (sent) => overHttp1(ports.body, sent, 'chunked'),
};
const masked = ({ status, location, body }: Answer) => ({
  status,
  location: location.replace(/:\d+\//, '/').replace(/[\w-]{16,}(?:\.[\w-]+)*/g, '…'),
  body: body.startsWith('<') ? 'page' : body.replace(/[\w-]{16,}(?:\.[\w-]+)*/g, '…').replace(/"(?:iat|exp|expires_in)":\d+/g, ''),
});

describe.each(Object.entries(endpoints))('%s', (name, sent) => {
  test.each(Object.entries(transports))('%s', async (_, send) => {
    const expected = masked(await overHttp1(port, sent(), 'length'));
    expect([name, masked(await send(sent()))]).toEqual([name, expected]);
    expect(expected.status).not.toBe(500);
  });

  test('an empty body is one without members, by each transport', async () => {
    const empty = { ...sent(), body: Buffer.alloc(0) };
    const expected = masked(await overHttp1(port, empty, 'length'));
    expect(expected.status).toBeLessThan(500);
    for (const [transport, send] of Object.entries(transports).filter(([by]) => !by.startsWith('read before')))
      expect([transport, masked(await send(empty))]).toEqual([transport, expected]);
  });

  const coded = (coding: string, body: Buffer): Sent => {
    const plain = sent();
    return { ...plain, headers: { ...plain.headers, 'content-encoding': coding }, body };
  };

  test('RFC 9110 §8.4: a compressed body is read', async () => {
    const plain = sent();
    const expected = masked(await overHttp1(port, plain, 'length'));
    for (const [coding, compress] of [
      ['gzip', gzipSync],
      ['GZip', gzipSync],
      ['x-gzip', gzipSync],
      ['deflate', deflateSync],
      ['br', brotliCompressSync],
      ['identity', Buffer.from],
    ] as const) {
      const answer = await overHttp1(port, coded(coding, compress(plain.body)), 'chunked');
      expect([name, coding, masked(answer)]).toEqual([name, coding, expected]);
    }
  });

  test('the limit of a body holds for what is decoded', async () => {
    for (const [coding, compress] of [
      ['gzip', gzipSync],
      ['br', brotliCompressSync],
    ] as const) {
      const bomb = compress(Buffer.concat([sent().body, Buffer.alloc(4 * 1024 * 1024, 'a')]));
      expect(bomb.length).toBeLessThan(32 * 1024);
      expect([name, coding, (await overHttp1(port, coded(coding, bomb), 'length')).status]).toEqual([name, coding, 413]);
    }
  });

  test('RFC 9110 §15.5.16: a coding that is unknown is refused, and the answer says which are known', async () => {
    for (const coding of ['zstd', 'gzip, gzip', 'constructor']) {
      const { status, body } = await overHttp1(port, coded(coding, sent().body), 'length');
      expect([name, coding, status]).toEqual([name, coding, 415]);
      if (!body.startsWith('<')) expect(body).toContain('Send gzip, deflate, br or none.');
    }
  });
});
