/** design §8: webhooks. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { type AdminClient, adminClient, administer, adminToken } from '../support/administration/admin.js';
import { type Hook, startWebhookReceiver, type WebhookReceiver } from '../support/client/receivers/webhook-receiver.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

const scopes = ['idp.events:read', 'idp.webhooks:read', 'idp.webhooks:write'];
const seed = { ...testSeed, clients: [...testSeed.clients, adminClient('root', ['*'], scopes), adminClient('globex', ['Globex'], scopes)] };
const stores = { artifacts: memoryArtifacts(), directory: memoryDirectory() };
const service = useIdp({ ...stores, seed });
let tid: string;
let acme: string;
let receiver: WebhookReceiver;
const open: WebhookReceiver[] = [];
const DAY = 86_400;

/** Returns a client with a new token, because tokens expire while time passes. */
const as = async (client: string): Promise<AdminClient> =>
  administer(service.issuer, await adminToken(service.issuer, client, scopes.join(' ')));
const created = async (of = tid): Promise<string> =>
  (await service.idp.tenant(of).persons.create({ givenName: 'Given', familyName: 'Family' })).id;
const about = (id: string) => (hook: Hook) => hook.event.subject === id;
/** Verifies a delivery as receivers do. @throws if the service did not sign the delivery. */
const verified = (hook: Hook, secret: string) => new Webhook(secret).verify(hook.body, hook.headers as Record<string, string>);

async function webhook(body: Readonly<Record<string, unknown>> = {}, path = `/tenants/${tid}/webhooks`, client = 'root') {
  const call = await as(client);
  const { status, json, headers } = await call(path, { method: 'POST', body: { url: receiver.url, ...body } });
  expect(status).toBe(201);
  expect(headers.get('location')).toBe(`${call.base}${path}/${json.id}`);
  return { ...json, path: `${path}/${json.id}` } as { id: string; secret: string; path: string };
}
const state = async (path: string) => (await (await as('root'))(path)).json;
const untilState = (path: string, isMeant: (json: Record<string, unknown>) => boolean) => until(() => state(path), isMeant);

beforeAll(async () => {
  const tenants = await service.idp.directory.tenants.find();
  tid = tenants.find(({ name }) => name === 'Globex')?.id ?? '';
  acme = tenants.find(({ name }) => name === 'Acme')?.id ?? '';
});
beforeEach(async () => {
  receiver = await startWebhookReceiver();
  open.push(receiver);
});
afterEach(() => backToPresent());
afterAll(() => {
  for (const each of open) each.close();
});

describe('design §8: webhooks', () => {
  test('each event of the tenant comes in its order, as CloudEvents, signed as Standard Webhooks has it, under its own id', async () => {
    const { secret, path } = await webhook();
    const [first, foreign, second] = [await created(), await created(acme), await created()];
    await receiver.received(about(second));
    const hooks = receiver.hooks.filter(({ event }) => event.type === 'PersonCreated');
    expect(hooks.map(({ event }) => event.subject)).toEqual([first, second]);
    expect(receiver.hooks.some(about(foreign))).toBe(false);
    const sequences = receiver.hooks.map(({ event }) => event.sequence);
    expect(sequences).toEqual([...sequences].sort());
    for (const hook of receiver.hooks) {
      expect(verified(hook, secret)).toEqual(hook.event);
      expect(hook.headers).toMatchObject({ 'webhook-id': hook.event.id, 'content-type': 'application/cloudevents+json; charset=utf-8' });
      expect(hook.event).toMatchObject({ specversion: '1.0', source: service.issuer, tid });
      expect(() => verified({ ...hook, body: hook.body.replace('1.0', '1.1') }, secret)).toThrow();
    }
    await (await as('root'))(path, { method: 'DELETE' });
  });

  test('of the instance gets the events of all tenants; with types, those alone', async () => {
    const { path } = await webhook({ types: ['PersonCreated', 'PermissionCreated'] }, '/webhooks');
    const ids = [await created(), await created(acme)];
    await service.idp.directory.permissions.create({ id: 'hooked', name: 'Hooked' });
    for (const id of [...ids, 'hooked']) await receiver.received(about(id));
    expect(new Set(receiver.hooks.map(({ event }) => event.type))).toEqual(new Set(['PersonCreated', 'PermissionCreated']));
    await (await as('root'))(path, { method: 'DELETE' });
  });

  test('its secret is shown once and kept encrypted; after a rotation both secrets sign, after the next the older does no more', async () => {
    const { secret, path } = await webhook();
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const root = await as('root');
    const listed = await root(`/tenants/${tid}/webhooks`);
    expect([(await root(path)).text, listed.text].join()).not.toContain(secret);
    const kept = await stores.directory.collection('events.webhooks').find({});
    expect(JSON.stringify(kept)).not.toContain(secret.slice('whsec_'.length));
    const rotated = (await root(`${path}/rotate-secret`, { method: 'POST' })).json.secret;
    const [hook] = await receiver.received(about(await created()));
    for (const live of [secret, rotated]) expect(verified(hook as Hook, live)).toEqual((hook as Hook).event);
    const newest = (await root(`${path}/rotate-secret`, { method: 'POST' })).json.secret;
    const [later] = await receiver.received(about(await created()));
    for (const live of [rotated, newest]) expect(verified(later as Hook, live)).toEqual((later as Hook).event);
    expect(() => verified(later as Hook, secret)).toThrow();
    await root(path, { method: 'DELETE' });
  });

  test('an event that is not taken comes again under the same id, before any later one; a redirect is not followed', async () => {
    const { path } = await webhook({ types: ['PersonCreated'] });
    receiver.answer(302, { location: `${receiver.url}/elsewhere` });
    const [first, second] = [await created(), await created()];
    await receiver.received(about(first));
    expect(await untilState(path, ({ failingSince }) => failingSince !== undefined)).toMatchObject({
      status: 'active',
      problem: 'the receiver answered 302',
    });
    receiver.answer(200);
    passTime(60);
    await receiver.received(about(second));
    const subjects = receiver.hooks.map(({ event }) => event.subject);
    expect(subjects).toEqual([first, first, second]);
    expect(receiver.hooks[0]?.headers['webhook-id']).toBe(receiver.hooks[1]?.headers['webhook-id']);
    expect(receiver.hooks[0]?.body).toBe(receiver.hooks[1]?.body);
    expect(await untilState(path, ({ failingSince }) => failingSince === undefined)).not.toHaveProperty('problem');
    await (await as('root'))(path, { method: 'DELETE' });
  });

  test('an event that every attempt failed for is listed, lets later ones pass, and is sent again when asked for', async () => {
    const { path } = await webhook({ types: ['PersonCreated'] });
    const bad = await created();
    receiver.answer(({ event }) => (event.subject === bad ? 500 : 200));
    for (let attempt = 1; attempt <= 7; attempt += 1) {
      await receiver.received(about(bad), attempt);
      await untilState(path, ({ attempts }) => attempts === (attempt === 7 ? undefined : attempt));
      passTime(attempt * 8 * 3_600);
    }
    const good = await created();
    await receiver.received(about(good));
    const { json } = await (await as('root'))(`${path}/deliveries`);
    expect(json.items).toEqual([
      {
        id: expect.any(String),
        event: receiver.hooks[0]?.event,
        attempts: 7,
        problem: 'the receiver answered 500',
        at: expect.any(String),
      },
    ]);
    receiver.answer(200);
    const root = await as('root');
    expect((await root(`${path}/deliveries?limit=1&after=${json.items[0].id}`)).json).toEqual({ items: [] });
    const unknown = await root(`${path}/replay`, { method: 'POST', body: { deliveries: ['unknown'] } });
    expect(unknown.status).toBe(404);
    const replayed = await root(`${path}/replay`, { method: 'POST', body: { deliveries: [json.items[0].id] } });
    expect([replayed.status, replayed.json]).toEqual([202, { replayed: 1 }]);
    const hooks = await receiver.received(about(bad), 8);
    expect(new Set(hooks.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    await untilState(`${path}/deliveries`, ({ items }) => (items as unknown[]).length === 0);
    await root(path, { method: 'DELETE' });
  });

  test.each([
    ['answers 410', 410, 0, 'gone'],
    ['has failed for five days', 503, 5 * DAY, 'failing'],
  ] as const)(
    'a receiver that %s is switched off with an event; switched on again it gets what it missed',
    async (_, status, seconds, reason) => {
      const { id, path } = await webhook({ types: ['PersonCreated'] });
      receiver.answer(status);
      const first = await created();
      await receiver.received(about(first));
      if (seconds > 0) {
        await untilState(path, ({ failingSince }) => failingSince !== undefined);
        passTime(seconds - 60);
        await receiver.received(about(first), 2);
        expect(await untilState(path, ({ attempts }) => attempts === 2)).toMatchObject({ status: 'active' });
        passTime(seconds + 3_600);
      }
      expect(await untilState(path, (json) => json.status === 'disabled')).toMatchObject({ reason });
      const feed = async () =>
        (await (await as('root'))(`/tenants/${tid}/events?type=WebhookDisabled&limit=200`)).json.items as { subject: string }[];
      await until(async () => (await feed()).some(({ subject }) => subject === id));
      const raised = (await feed()).filter(({ subject }) => subject === id);
      expect(raised).toEqual([expect.objectContaining({ data: { AggregateId: id, Reason: reason } })]);
      const before = receiver.hooks.length;
      receiver.answer(200);
      const second = await created();
      const root = await as('root');
      const { json } = await root(path, { method: 'PATCH', body: { status: 'active' } });
      expect([json.status, json.reason]).toEqual(['active', undefined]);
      await receiver.received(about(second));
      expect(receiver.hooks.slice(before).map(({ event }) => event.subject)).toEqual([first, second]);
      await root(path, { method: 'DELETE' });
    },
  );

  test.each([
    ['another URL', async (path: string, url: string) => void (await (await as('root'))(path, { method: 'PATCH', body: { url } }))],
    [
      'switched off and on',
      async (path: string) => {
        for (const status of ['disabled', 'active']) await (await as('root'))(path, { method: 'PATCH', body: { status } });
      },
    ],
  ])('an attempt that ends after its webhook was repaired switches nothing off: %s', async (_, repair) => {
    const { id, path } = await webhook({ types: ['PersonCreated'] });
    const repaired = await startWebhookReceiver();
    open.push(repaired);
    let end = (_status: number): void => {};
    receiver.answer(
      () =>
        new Promise<number>((resolve) => {
          end = resolve;
        }),
    );
    const person = await created();
    await receiver.received(about(person));
    await repair(path, repaired.url);
    const { url } = (await state(path)) as { url: string };
    receiver.answer(200);
    end(410);
    await (url === repaired.url ? repaired.received(about(person)) : receiver.received(about(person), 2));
    expect(await state(path)).toMatchObject({ id, status: 'active' });
    await (await as('root'))(path, { method: 'DELETE' });
  });

  test('a webhook that was repaired gets what it missed at once, and has all its attempts', async () => {
    const { path } = await webhook({ types: ['PersonCreated'] });
    const repaired = await startWebhookReceiver();
    open.push(repaired);
    receiver.answer(500);
    const person = await created();
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await receiver.received(about(person), attempt);
      await untilState(path, ({ attempts }) => attempts === attempt);
      // The next attempt after the third is due in ten minutes.
      if (attempt < 3) passTime(attempt * 3_600);
    }
    repaired.answer(500);
    await (await as('root'))(path, { method: 'PATCH', body: { url: repaired.url } });
    await repaired.received(about(person));
    expect(await untilState(path, ({ attempts }) => attempts === 1)).toMatchObject({ status: 'active' });
    expect(receiver.hooks).toHaveLength(3);
    await (await as('root'))(path, { method: 'DELETE' });
  });

  test('receivers that keep one tenant’s events waiting hold up nobody else’s', async () => {
    const slow = await startWebhookReceiver();
    open.push(slow);
    let free = () => {};
    const held = new Promise<number>((resolve) => {
      free = () => resolve(204);
    });
    slow.answer(() => held);
    const many = Array.from({ length: 20 }, () => webhook({ types: ['PersonCreated'], url: slow.url }, `/tenants/${acme}/webhooks`));
    const paths = (await Promise.all(many)).map(({ path }) => path);
    const { path } = await webhook({ types: ['PersonCreated'] });
    await created(acme);
    await until(() => slow.hooks.length >= 4);
    await receiver.received(about(await created()));
    // Slow receivers have only their share of concurrent deliveries. More follow only after a slow delivery is given up.
    expect(slow.hooks.length).toBe(4);
    free();
    await until(() => slow.hooks.length >= 20);
    const root = await as('root');
    for (const one of [...paths, path]) await root(one, { method: 'DELETE' });
  });

  test('a test delivery is sent at once, and is in no feed', async () => {
    const { id, secret, path } = await webhook();
    const root = await as('root');
    expect((await root(`${path}/test`, { method: 'POST' })).json).toEqual({ isTaken: true, status: 204 });
    const [hook] = await receiver.received(({ event }) => (event.type as string) === 'WebhookTested');
    expect(verified(hook as Hook, secret)).toMatchObject({ subject: id, tid, data: { AggregateId: id } });
    receiver.answer(500);
    expect((await root(`${path}/test`, { method: 'POST' })).json).toEqual({
      isTaken: false,
      status: 500,
      problem: 'the receiver answered 500',
    });
    await root(path, { method: 'DELETE' });
  });

  test('H1: a webhook of another tenant is as one that does not exist, whatever is asked of it', async () => {
    const { id, path } = await webhook();
    const own = await as('globex');
    const root = await as('root');
    const calls: [string, string, unknown?][] = [
      ['GET', ''],
      ['PATCH', '', { description: 'Mine' }],
      ['DELETE', ''],
      ['POST', '/rotate-secret'],
      ['POST', '/test'],
      ['GET', '/deliveries'],
      ['POST', '/replay', {}],
    ];
    for (const [method, more, body] of calls) {
      for (const [client, foreign] of [
        [own, `/tenants/${acme}/webhooks/${id}`],
        [root, `/tenants/${acme}/webhooks/${id}`],
        [root, `/webhooks/${id}`],
      ] as const) {
        const { status, json } = await client(foreign + more, { method, ...(body === undefined ? {} : { body }) });
        expect([method, more, status, json.code]).toEqual([method, more, 404, 'not_found']);
      }
    }
    expect((await own('/webhooks')).status).not.toBe(200);
    expect((await own(path)).status).toBe(200);
    await root(path, { method: 'DELETE' });
    expect((await root(path)).status).toBe(404);
  });

  test('its URL is https, or loopback outside production, without credentials', async () => {
    const root = await as('root');
    for (const url of [
      'http://example.com/',
      'ftp://localhost/',
      'https://me:secret@example.com/',
      'https://example.com/#x',
      'nothing',
      'http://10.0.0.1/',
    ])
      expect((await root('/webhooks', { method: 'POST', body: { url } })).status).toBe(422);
  });

  test('nothing is sent to an address inside, whatever leads there', async () => {
    const root = await as('root');
    for (const url of ['https://10.0.0.1/', 'https://169.254.169.254/latest', 'https://[fd00::1]/']) {
      const { path } = await webhook({ url, types: ['PersonCreated'] });
      expect((await root(`${path}/test`, { method: 'POST' })).json).toEqual({
        isTaken: false,
        problem: expect.stringContaining('is not a public address'),
      });
      await root(path, { method: 'DELETE' });
    }
  });

  test('each change of a webhook is an event, with its actor', async () => {
    const { id, path } = await webhook({ description: 'To the CRM' });
    const root = await as('root');
    const changed = await root(path, { method: 'PATCH', body: { description: null, types: ['UserCreated'] } });
    expect(changed.json).toMatchObject({ types: ['UserCreated'] });
    expect(changed.json.description).toBeUndefined();
    await root(`${path}/rotate-secret`, { method: 'POST' });
    await root(path, { method: 'DELETE' });
    const kinds = ['WebhookCreated', 'WebhookUpdated', 'WebhookSecretAdded', 'WebhookRemoved'];
    const raised = async () =>
      (
        (await root(`/tenants/${tid}/events?type=${kinds.join(',')}&limit=200`)).json.items as {
          subject: string;
          type: string;
          actor: string;
        }[]
      )
        .filter(({ subject }) => subject === id)
        .map(({ type, actor }) => `${type} ${actor}`);
    await until(async () => (await raised()).length >= kinds.length);
    expect(await raised()).toEqual(kinds.map((kind) => `${kind} client:root`));
  });
});
