/** Retention of events: a job removes events after `lifetimes.events`, except the events that a webhook waits for. */
import { afterAll, afterEach, expect, test } from '@jest/globals';
import type { ExtensionContext, JobRound } from 'tenant-idp/extension';
import { events } from '../../extensions/events/index.js';
import { deadLetters } from '../../extensions/events/records.js';
import { adminClient, administer, adminToken } from '../support/administration/admin.js';
import { startWebhookReceiver, type WebhookReceiver } from '../support/client/receivers/webhook-receiver.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

const DAY = 86_400;
const scopes = ['idp.events:read', 'idp.webhooks:write'];
let context: ExtensionContext;
let receiver: WebhookReceiver | undefined;
const service = useIdp({
  seed: { ...testSeed, clients: [...testSeed.clients, adminClient('root', ['*'], scopes)] },
  lifetimes: { events: 2 * DAY },
  extensions: [
    {
      name: 'beside',
      // The job opens no secret of a webhook, but creating the job needs a purpose of this extension.
      start: async (given) => {
        context = { ...given, keys: { ...given.keys, seal: (purpose) => given.keys.seal(`beside ${purpose}`) } };
      },
    },
  ],
});
afterEach(() => backToPresent());
afterAll(() => receiver?.close());

/** Runs the job immediately, because its interval is ten minutes of real time. */
async function retention(): Promise<void> {
  const job = events()
    .jobs?.(context)
    .find(({ name }) => name === 'events.retention');
  expect(job?.intervalSeconds).toBe(600);
  await job?.run({ signal: new AbortController().signal } as JobRound);
}
const root = async () => administer(service.issuer, await adminToken(service.issuer, 'root', scopes.join(' ')));

test('lifetimes.events: the job takes away what is older, but for what a webhook is still to get, and the last; a cursor from before is told so', async () => {
  const [tenant] = await service.idp.directory.tenants.find();
  const create = (givenName: string) =>
    service.idp
      .tenant(tenant?.id ?? '')
      .persons.create({ givenName, familyName: 'Kept' })
      .then(({ id }) => id);
  const feed = async (after?: string) => (await root())(`/events?limit=200${after === undefined ? '' : `&after=${after}`}`);
  const listed = async () => (await feed()).json.items as { subject: string; sequence: string }[];
  const isListed = (id: string) => async () => (await listed()).some(({ subject }) => subject === id);

  const before = await create('Before');
  await until(isListed(before));
  const old = await listed();

  receiver = await startWebhookReceiver();
  receiver.answer(500);
  const webhook = await (await root()).post('/webhooks', { url: receiver.url, types: ['PersonCreated'] });
  expect(webhook.status).toBe(201);
  const waiting = await create('Waiting');
  await until(isListed(waiting));
  await receiver.received(({ event }) => event.subject === waiting);
  await retention();
  expect((await listed()).slice(0, old.length)).toEqual(old);

  passTime(2 * DAY + 60);
  await retention();
  const left = (await listed()).map(({ subject }) => subject);
  expect([left.includes(before), left.includes(waiting)]).toEqual([false, true]);
  const gone = await feed(old[0]?.sequence);
  expect([gone.status, gone.json.code]).toEqual([410, 'cursor_expired']);

  // No webhook waits for the other events any more.
  await (await root()).remove(`/webhooks/${webhook.json.id}`);
  await until(async () => {
    await retention();
    return !(await isListed(waiting)());
  });
  expect((await listed()).length).toBeGreaterThan(0);
});

test('what was given up for a webhook goes with the event', async () => {
  const [tenant] = await service.idp.directory.tenants.find();
  const tid = tenant?.id ?? '';
  const letters = context.records.collection(deadLetters, tid);
  const giveUp = async () => {
    const { id } = await service.idp.tenant(tid).persons.create({ givenName: 'Given', familyName: 'Up' });
    const { events: found } = await until(
      () => context.directory.eventFeed.read({ limit: 1000 }),
      (page) => page.events.some(({ subject }) => subject === id),
    );
    const event = { ...found.find(({ subject }) => subject === id) };
    await letters.insert({ webhookId: 'any', event, attempts: 7, problem: 'none', at: new Date().toISOString() }, { id });
    return id;
  };
  // Moves the clock past the events of the previous test.
  passTime(3 * DAY);
  const old = await giveUp();
  passTime(6 * DAY);
  const later = await giveUp();
  expect((await letters.list({ limit: 10 })).map(({ id }) => id).sort()).toEqual([old, later].sort());
  await retention();
  expect((await letters.list({ limit: 10 })).map(({ id }) => id)).toEqual([later]);
});
