/** POSTs with an `Idempotency-Key` whose store never answers, or whose client hangs up: they take effect once. */
import { request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { adminToken } from '../../support/administration/admin.js';
import { asAdministrator } from '../../support/saml/service/administration.js';
import { useRetriedPosts } from './retried-posts.js';

const { service, stores, request } = useRetriedPosts();

const secretsOf = async (id = ''): Promise<number> => {
  const root = await asAdministrator(service.issuer, 'root');
  return (await root(`/clients/${id}`)).json.secrets.length;
};
const eventsOf = async (type: string, subject = ''): Promise<number> => {
  const rows = [...(await stores.rows.collection('persons').find({}))] as unknown as {
    pendingEvents?: { type: string; subject: string }[];
  }[];
  const events = (await stores.rows.collection('events').find({})) as unknown as { type: string; subject: string }[];
  return [...events, ...rows.flatMap(({ pendingEvents = [] }) => pendingEvents)].filter(
    (one) => one.type === type && one.subject === subject,
  ).length;
};

/** For each POST: the counter of its effects by the id in its path, the count of one effect, and the store's call that writes. */
const effects = {
  'POST /clients/{id}/secrets': [secretsOf, 2, 'clients.update'],
  'POST /tenants/{tid}/users/{id}/sign-out': [(id = '') => eventsOf('UserSignedOut', id), 1, 'persons.update'],
} as const;

/** Sends a request and hangs up after a moment. @param part how many of the bytes that the request announces are sent */
async function hangUp(url: string, headers: Readonly<Record<string, string>>, part: number): Promise<void> {
  const authorization = `Bearer ${await adminToken(service.issuer, 'root')}`;
  const body = '{}';
  const sent = httpRequest(url, {
    method: 'POST',
    headers: { ...headers, authorization, 'content-type': 'application/json', 'content-length': String(body.length) },
  });
  sent.on('error', () => {});
  sent.write(body.slice(0, part));
  if (part === body.length) sent.end();
  await sleep(150);
  sent.destroy();
}

describe.each(Object.keys(effects) as (keyof typeof effects)[])('%s', (name) => {
  const [countOf, once, write] = effects[name];

  test('a store that makes the write and never answers: 503 in time, then the answer', async () => {
    const { post, send } = await request(name);
    expect((await send({ call: 1, name: write, way: 'hangs after' })).answer.status).toBe(503);
    const retried = await send();
    expect([retried.answer.status, await countOf(post.params?.id)]).toEqual([200, once]);
    expect((await send()).answer.text).toBe(retried.answer.text);
  });

  test('a client that hangs up while the request runs: the retry gets the answer of that request', async () => {
    const { post, url, headers, send } = await request(name);
    await hangUp(url, headers({ call: 1, name: write, way: 'slow' }), post.body === undefined ? 0 : 2);
    const { answer } = await send();
    expect([answer.status, await countOf(post.params?.id)]).toEqual([200, once]);
  });
});

test('a client that hangs up in the middle of the body changes nothing, and its key is free', async () => {
  const name = 'POST /clients';
  const { post, url, headers, send } = await request(name);
  await hangUp(url, headers(), 1);
  const { answer } = await send();
  expect([answer.status, answer.headers.get('idempotency-replayed'), answer.json.id]).toEqual([
    201,
    null,
    (post.body as { id: string }).id,
  ]);
});
