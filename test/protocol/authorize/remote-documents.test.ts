/** M14, M15: documents that strangers make the service fetch, and documents that strangers make the service keep. */
import type { ServerResponse } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair } from 'jose';
import { Agent, type Answer, createPkce, obtainTokens } from '../../support/client/agent.js';
import { membersOf } from '../../support/client/authorization-response.js';
import { endpointsOf } from '../../support/client/endpoints.js';
import { useDocumentHost } from '../../support/client/receivers/document-host.js';
import { createSigningClient, type SigningClient } from '../../support/client/request-objects.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { stopTime } from '../../support/time/clock.js';
import { until } from '../../support/time/until.js';

let alice: Agent;
const host = useDocumentHost();
const silent = useSilentHost();
const service = useIdp(() => ({ outgoing: { allowHosts: [host.address, silent.address] } }));
beforeAll(async () => {
  ({ agent: alice } = await obtainTokens(service.issuer));
});
/** Stopped clock, because the tests count calls to a host in a minute, and a busy machine takes longer than a minute. */
let time: ReturnType<typeof stopTime>;
beforeEach(() => {
  time = stopTime();
});
afterEach(() => time.resume());

const atOnce = <T>(count: number, run: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => run(index)));
const protocol = {
  response_type: 'code',
  redirect_uri: redirectUri,
  scope: 'openid',
  code_challenge: createPkce().challenge,
  code_challenge_method: 'S256',
};
const authorize = (query: Record<string, string>, agent = alice): Promise<Answer> =>
  agent.get(`${service.issuer}/connect/authorize?${new URLSearchParams({ ...protocol, ...query })}`);
const respond = async (query: Record<string, string>) => membersOf(await authorize(query));

describe('M14: a request_uri', () => {
  const paths = ['failing', 'own', 'kept#v1', ...Array.from({ length: 40 }, (_, index) => `many${index}`)];
  let client: SigningClient;
  beforeAll(async () => {
    client = await createSigningClient('by-url', { metadata: { request_uris: paths.map((path) => `${host.url}/${path}`) } });
    await service.idp.directory.clients.create(client.record);
  });
  const ask = (path: string) => respond({ client_id: client.id, request_uri: `${host.url}/${path}` });
  /** Answers each call with another request object. */
  const answerWithObjects = () => {
    let count = 0;
    host.answerBy(async (_, response) => {
      count += 1;
      const object = await client.sign(service.issuer, { ...protocol, state: `object ${count}` });
      response.writeHead(200, { 'content-type': 'application/jwt' }).end(object);
    });
  };

  test('M14: that fails is called once, however many ask, and a minute later again', async () => {
    host.answerBy((_, response) => void setTimeout(() => response.writeHead(404).end(), 50));
    const refused = {
      error: 'invalid_request_uri',
      error_description: 'request_uri could not be read. Check that the URL answers 200 with a request object.',
    };
    for (const response of await atOnce(30, () => ask('failing'))) expect(response).toMatchObject(refused);
    time.at(50);
    expect(await ask('failing')).toMatchObject(refused);
    expect(host.asked).toEqual(['/failing']);
    answerWithObjects();
    time.at(61);
    expect(await ask('failing')).toMatchObject({ state: 'object 1' });
    expect(host.asked).toEqual(['/failing', '/failing']);
  });

  test('M14: without a fragment is read for each request alone, one at a time', async () => {
    answerWithObjects();
    const states = (await atOnce(12, () => ask('own'))).map(({ state }) => state);
    expect(new Set(states)).toEqual(new Set(Array.from({ length: 12 }, (_, index) => `object ${index + 1}`)));
    expect([host.asked.length, host.mostUnderWay]).toEqual([12, 1]);
  });

  test('M14: with a fragment is read once, whatever the fragment is, and again when it was kept for ten minutes', async () => {
    answerWithObjects();
    for (const { state } of await atOnce(12, () => ask('kept#v1'))) expect(state).toBe('object 1');
    expect(await ask('kept#v1')).toMatchObject({ state: 'object 1' });
    expect(host.asked).toEqual(['/kept']);
    time.at(601);
    expect(await ask('kept#v1')).toMatchObject({ state: 'object 2' });
  });

  test('M14: there are only so many calls at once, whatever they are for', async () => {
    const held: ServerResponse[] = [];
    let isOpen = false;
    host.answerBy((_, response) => void (isOpen ? response.writeHead(404).end() : held.push(response)));
    const asking = atOnce(40, (index) => ask(`many${index}`));
    await until(() => held.length === 32);
    isOpen = true;
    for (const response of held) response.writeHead(404).end();
    await asking;
    expect([host.asked.length, host.mostUnderWay]).toEqual([40, 32]);
  });
});

describe('M14: a jwks_uri', () => {
  let count = 0;
  async function clientWithKeys() {
    count += 1;
    const id = `keys-${count}`;
    const client = await createSigningClient(id, { metadata: { jwks_uri: `${host.url}/${id}` } });
    await service.idp.directory.clients.create(client.record);
    const ask = async (header = {}) => respond({ client_id: id, request: await client.sign(service.issuer, protocol, header) });
    return { client, ask };
  }
  const publish = (body: unknown, status = 200, headers = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    host.answerBy((_, response) => void setTimeout(() => response.writeHead(status, headers).end(text), 20));
  };

  test('M14: that fails is called once a minute, however many ask', async () => {
    const { ask } = await clientWithKeys();
    publish('', 500, { 'cache-control': 'max-age=31536000' });
    for (const response of await atOnce(20, () => ask())) expect(response).toMatchObject({ error: 'invalid_client_metadata' });
    time.at(50);
    await ask();
    expect(host.asked.length).toBe(1);
    time.at(61);
    await ask();
    expect(host.asked.length).toBe(2);
  });

  test('M14: a key that is not there is looked for once a minute', async () => {
    const { client, ask } = await clientWithKeys();
    publish({ keys: [client.publicKey] });
    for (const response of await atOnce(20, () => ask({ kid: 'unknown' })))
      expect(response).toMatchObject({ error: 'invalid_request_object' });
    expect(await ask()).toHaveProperty('code');
    expect(host.asked.length).toBe(1);
  });

  test.each<[string, unknown, number]>([
    ['another status', '', 503],
    ['no JSON', '<html>', 200],
    ['no key set', { error: 'x' }, 200],
    ['no array', { keys: {} }, 200],
    ['a redirect', { keys: [] }, 302],
  ])('M14: what fails with %s takes nothing away, and is not lost when the client changes', async (_, body, status) => {
    const { client, ask } = await clientWithKeys();
    publish({ keys: [client.publicKey] });
    expect(await ask()).toHaveProperty('code');
    publish(body, status);
    for (const seconds of [120, 240]) {
      time.at(seconds);
      expect(await ask({ kid: 'unknown' })).toMatchObject({ error: 'invalid_request_object' });
      expect(await ask()).toHaveProperty('code');
      await service.idp.directory.clients.update(client.id, { name: `${seconds} later` });
      expect(await ask()).toHaveProperty('code');
    }
    expect(host.asked.length).toBe(3);
  });

  test('M14: a key that cannot be used is passed over, and a set without keys is one', async () => {
    const { client, ask } = await clientWithKeys();
    const privateKey = await exportJWK((await generateKeyPair('ES256', { extractable: true })).privateKey);
    publish({
      keys: [{ kty: 'oct', k: 'x' }, { kty: 'EC', crv: 'P-256' }, { kty: 7 }, null, 'x', { ...privateKey, kid: 'own' }, client.publicKey],
    });
    expect(await ask()).toHaveProperty('code');
    publish({ keys: [] });
    time.at(120);
    expect(await ask({ kid: 'unknown' })).toMatchObject({ error: 'invalid_request_object' });
    expect(await ask()).toMatchObject({ error: 'invalid_request_object' });
  });
});

describe('M14: a sector_identifier_uri', () => {
  test('M14: that fails is called once a minute, however many ask', async () => {
    await service.idp.directory.clients.create({
      id: 'sector',
      name: 'Sector',
      secret: 'sector-secret',
      metadata: { redirect_uris: [redirectUri], subject_type: 'pairwise', sector_identifier_uri: `https://${silent.address}/sector` },
    });
    for (const { status } of await atOnce(20, () => authorize({ client_id: 'sector' }))) expect(status).toBe(400);
    await authorize({ client_id: 'sector' });
    expect(silent.calls).toBe(1);
  });
});

describe('M15: what an authorization request may hold', () => {
  const limits = { state: 4096, nonce: 1024, login_hint: 1024, ui_locales: 512, acr_values: 2048 };

  test.each(Object.entries(limits))('M15: %s of at most %i bytes', async (name, limit) => {
    const parameters = (length: number) => ({ ...protocol, client_id: 'web', [name]: `${'x'.repeat(length - 2)}å` });
    expect(await respond(parameters(limit))).toHaveProperty('code');
    expect(await respond(parameters(limit + 1))).toMatchObject({ error: 'invalid_request' });
    const { par } = endpointsOf(service.issuer);
    expect(await par(parameters(limit))).toMatchObject({ status: 201 });
    expect(await par(parameters(limit + 1))).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });

  test('M15: by POST as much as by GET, 8 KiB, whether or not it could be kept for a reference', async () => {
    for (const more of [{}, { request: 'x' }] as Record<string, string>[]) {
      const post = (length: number) =>
        new Agent().post(`${service.issuer}/connect/authorize`, {
          ...protocol,
          client_id: 'web',
          ...more,
          eid_user_visible_data: 'x'.repeat(length),
        });
      expect((await post(7500)).status).toBe(303);
      expect((await post(8192)).status).toBe(413);
    }
  });
});

/** A host that ends each connection before TLS. */
function useSilentHost() {
  let calls = 0;
  const server = createServer((socket) => {
    calls += 1;
    setTimeout(() => socket.destroy(), 20);
  });
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => void server.close());
  return {
    get address() {
      return `127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
    get calls() {
      return calls;
    },
  };
}
