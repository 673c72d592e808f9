/** Service specification 4.2, `request_uri`: signed authorization requests that are read from a URL of the client. */
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Agent, type Answer, createPkce, obtainTokens } from '../../support/client/agent.js';
import { type Endpoints, endpointsOf } from '../../support/client/endpoints.js';
import { useDocumentHost } from '../../support/client/receivers/document-host.js';
import { createSigningClient, type SigningClient } from '../../support/client/request-objects.js';
import { steadyMembersOf } from '../../support/client/steps.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { IN_TIME } from '../../support/time/in-time.js';

let endpoints: Endpoints;
let client: SigningClient;
let byUrl: SigningClient;
let alice: Agent;
const host = useDocumentHost();
const service = useIdp(() => ({ outgoing: { allowHosts: [host.address] } }));
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  client = await createSigningClient('signing');
  byUrl = await createSigningClient('by-url', {
    metadata: {
      request_uris: [
        `${host.url}/request`,
        ...[0, 1, 2, 3, 4, 5].map((index) => `${host.url}/failing-${index}`),
        'https://127.0.0.1:9/request',
        'http://localhost:9/r',
      ],
    },
  });
  await service.idp.directory.clients.create(client.record);
  await service.idp.directory.clients.create(byUrl.record);
  ({ agent: alice } = await obtainTokens(service.issuer, { client: 'jwt', secret: 'jwt-secret', scope: 'openid orders.read' }));
});

const { challenge } = createPkce();
const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };
const sign = (members: Record<string, unknown> = {}, header?: Record<string, unknown>, by = client) =>
  by.sign(service.issuer, { ...pkce, state: 'signed', ...members }, header);
const get = (query: Record<string, string>, agent = alice): Promise<Answer> =>
  agent.get(`${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: client.id, ...query })}`);
/** Parameters by which a client gets an error if the object cannot be read. */
const outside = { redirect_uri: redirectUri, response_type: 'code', state: 'outside' };

describe('4.2 request_uri: the URL of a JWT', () => {
  const type = 'application/oauth-authz-req+jwt';
  const publish = (body: string, { status = 200, contentType = type, isSilent = false, location = '' } = {}) => {
    const headers = { 'content-type': contentType, ...(location ? { location } : {}) };
    host.answerBy((_, response) => void (isSilent || response.writeHead(status, headers).end(body)));
  };
  const respond = async (requestUri: string, more: Record<string, string> = {}) =>
    steadyMembersOf(await get({ client_id: byUrl.id, request_uri: requestUri, ...more }));
  const request = (members = {}) => sign(members, {}, byUrl);

  test('one that the client registered is read, each time', async () => {
    publish(await request({ cart: '1' }));
    const first = await respond(`${host.url}/request`, { state: 'outside', basket: '2' });
    expect(first).toEqual({ cart: '1', code: expect.any(String), state: 'signed', scope: 'openid', iss: service.issuer });
    publish(await request({ cart: '2' }), { contentType: 'application/jwt; charset=utf-8' });
    expect(await respond(`${host.url}/request`)).toMatchObject({ cart: '2', code: expect.any(String) });
    expect(host.asked).toEqual(['/request', '/request']);
  });

  test('a fragment is a cache key, the hash of what is there or not', async () => {
    const object = await request();
    const other = `${host.url}/request#v2`;
    const hashed = `${host.url}/request#${createHash('sha256').update(object).digest('base64url')}`;
    await service.idp.directory.clients.update(byUrl.id, { metadata: { ...byUrl.record.metadata, request_uris: [hashed, other] } });
    for (const uri of [hashed, other]) {
      publish(object);
      expect(await respond(uri)).toHaveProperty('code');
      publish('');
      expect(await respond(uri)).toHaveProperty('code');
    }
    expect(host.asked).toEqual(['/request', '/request']);
    await service.idp.directory.clients.update(byUrl.id, { metadata: byUrl.record.metadata });
  });

  test('one that is not registered, to the letter, is invalid_request_uri, and nothing is called', async () => {
    publish(await request());
    for (const uri of [
      `${host.url}/request/`,
      `${host.url}/request?a=b`,
      `${host.url}/Request`,
      `${host.url}/request#x`,
      'https://elsewhere.test/',
      'x',
    ])
      expect(await respond(uri, outside)).toMatchObject({ error: 'invalid_request_uri', state: 'outside' });
    expect(steadyMembersOf(await get({ ...outside, request_uri: `${host.url}/request` }))).toMatchObject({ error: 'invalid_request_uri' });
    expect(host.asked).toEqual([]);
  });

  test('C3: an address that is not public, or not https, is not called, registered or not', async () => {
    const started = Date.now();
    for (const uri of ['https://127.0.0.1:9/request', 'http://localhost:9/r'])
      expect(await respond(uri, outside)).toEqual({
        error: 'invalid_request_uri',
        error_description: 'request_uri could not be read. Check that the URL answers 200 with a request object.',
        state: 'outside',
        iss: service.issuer,
      });
    expect(Date.now() - started).toBeLessThan(IN_TIME);
  });

  let failing = 0;
  test.each<[string, Parameters<typeof publish>[1], string]>([
    ['a redirect', { status: 302, location: '/elsewhere' }, ''],
    ['another status', { status: 404 }, ''],
    ['another type', { contentType: 'text/html' }, ''],
    ['no type', { contentType: '' }, ''],
    ['more than 64 KiB', {}, 'x'.repeat(65_537)],
    ['nothing within two seconds', { isSilent: true }, ''],
  ])('C3: an answer with %s is not taken, and the caller is not told why', async (_, how, body) => {
    publish(body || (await request()), how);
    // A URL that failed is not read again for a while.
    const path = `/failing-${failing}`;
    failing += 1;
    expect(await respond(host.url + path, outside)).toMatchObject({
      error: 'invalid_request_uri',
      error_description: 'request_uri could not be read. Check that the URL answers 200 with a request object.',
    });
    expect(host.asked).toEqual([path]);
  });

  test('what is read there is checked as one by value', async () => {
    for (const body of ['x', 'a.b.c', await request({ exp: undefined }), await sign({ client_id: byUrl.id, iss: byUrl.id })]) {
      publish(body);
      expect(await respond(`${host.url}/request`, outside)).toMatchObject({ error: 'invalid_request_object' });
    }
    publish(await request());
    expect(await respond(`${host.url}/request`)).toHaveProperty('code');
  });

  test('4.2 request and request_uri cannot be used together', async () => {
    const object = await request();
    publish(object);
    const { request_uri: pushed } = (await endpoints.par({ client_id: byUrl.id, request: object }, byUrl.id)).json;
    for (const uri of [`${host.url}/request`, pushed, 'x'])
      expect(await respond(uri, { ...outside, request: object })).toMatchObject({ error: 'invalid_request' });
    expect(host.asked).toEqual([]);
    expect(await endpoints.par({ client_id: byUrl.id, request: object, request_uri: pushed }, byUrl.id)).toMatchObject({
      status: 400,
      json: { error: 'invalid_request' },
    });
  });
});

test('4.2 nothing here is worth a line in the log', () => {
  expect(service.logged).toEqual([]);
});
