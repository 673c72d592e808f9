/**
 * Webhooks at least once (design §8, threats G9 and H3). A node is killed with `kill -9` between a write, its event, its delivery, and the
 * write of the position. The next node continues.
 */
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { createIdentityProvider } from 'tenant-idp';
import { administer, adminToken } from '../support/administration/admin.js';
import type { KillPoint, ToEventNode } from '../support/administration/event-node.js';
import { type EventNode, startEventNode } from '../support/administration/event-nodes.js';
import { startWebhookReceiver, type WebhookReceiver } from '../support/client/receivers/webhook-receiver.js';
import { testKeys } from '../support/service/keys.js';
import { silentLogger } from '../support/service/test-directory.js';
import { withDurable } from '../support/stores/durable.js';

const killPoints: readonly KillPoint[] = ['written', 'recorded', 'delivered', 'positioned'];
const KILLS = process.env.PROVE ? 100 : 1;

withDurable(['POSTGRES_URL', 'MONGODB_URL'], (durable) => {
  const place = durable.place();
  const nodes: ChildProcess[] = [];
  afterAll(() => {
    for (const node of nodes) node.kill('SIGKILL');
  });

  async function start(personId: string, killAt: KillPoint, at = place): Promise<EventNode> {
    const started = await startEventNode({ place: at, personId, killAt });
    nodes.push(started.node);
    return started;
  }
  const kill = async (node: ChildProcess) => {
    const ended = once(node, 'exit');
    node.kill('SIGKILL');
    await ended;
  };

  describe('design §8: a node is killed while it sends a webhook', () => {
    let receiver: WebhookReceiver;
    beforeAll(async () => {
      receiver = await startWebhookReceiver();
    });
    afterAll(() => receiver.close());

    test(`${KILLS} times at each point: each change is delivered in order under one id, and again only where the position was not written`, async () => {
      const subscribe = async (issuer: string): Promise<string> => {
        const root = administer(issuer, await adminToken(issuer, 'root', 'idp.webhooks:write'));
        const { status, json } = await root('/webhooks', { method: 'POST', body: { url: receiver.url, types: ['PersonCreated'] } });
        expect(status).toBe(201);
        return json.secret;
      };

      let secret = '';
      let verified = 0;
      // Verifies immediately, because a signature is valid for five minutes.
      const verifyNew = () => {
        for (const hook of receiver.hooks.slice(verified))
          expect(new Webhook(secret).verify(hook.body, hook.headers as Record<string, string>)).toEqual(hook.event);
        verified = receiver.hooks.length;
      };
      const made: { readonly personId: string; readonly killAt: KillPoint }[] = [];
      for (let round = 0; round < KILLS * killPoints.length; round += 1) {
        const [personId, killAt] = [randomUUID(), killPoints[round % killPoints.length] as KillPoint];
        const { node, issuer } = await start(personId, killAt);
        const last = made.at(-1);
        // The deliveries of the previous node come first, so that the kill affects the next delivery.
        if (!last) secret = await subscribe(issuer);
        else await receiver.received(({ event }) => event.subject === last.personId, last.killAt === 'delivered' ? 2 : 1);
        const ended = once(node, 'exit');
        node.send({ create: 1 } satisfies ToEventNode);
        expect(await ended).toEqual([null, 'SIGKILL']);
        made.push({ personId, killAt });
        verifyNew();
      }
      const { node } = await start(randomUUID(), 'never');
      for (const { personId, killAt } of made)
        await receiver.received(({ event }) => event.subject === personId, killAt === 'delivered' ? 2 : 1);
      await kill(node);

      verifyNew();
      for (const { personId, killAt } of made) {
        const hooks = receiver.hooks.filter(({ event }) => event.subject === personId);
        expect([killAt, hooks.length]).toEqual([killAt, killAt === 'delivered' ? 2 : 1]);
        expect(new Set(hooks.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
      }
      const subjects = [...new Set(receiver.hooks.map(({ event }) => event.subject))];
      expect(subjects).toEqual(made.map(({ personId }) => personId));
      // There is one event for each change and no other event. The nodes write only these collections.
      const kept = await durable.rows(place, 'persons');
      expect(kept.map(({ id }) => id).sort()).toEqual([...subjects].sort());
      if (process.env.PROVE) process.stderr.write(`${JSON.stringify({ kills: made.length, delivered: receiver.hooks.length })}\n`);
    });
  });

  test('design §8: with three nodes writing at once, each of which dispatches, a reader of the feed sees each event once, in one order without a gap', async () => {
    const other = durable.place();
    const MADE = process.env.PROVE ? 300 : 30;
    const starting = await start(randomUUID(), 'never', other);
    const started = [starting, ...(await Promise.all([0, 1].map(() => start(randomUUID(), 'never', other))))];
    const reader = await createIdentityProvider({
      issuer: 'http://localhost:3000',
      directory: durable.at(other).directory,
      keys: { signing: testKeys, encryption: ['what the nodes of the tests encrypt with'] },
      logger: silentLogger,
    });
    try {
      for (const { node } of started) node.send({ create: MADE } satisfies ToEventNode);
      const sequences: string[] = [];
      const subjects: string[] = [];
      for (let after: string | undefined, deadline = Date.now() + 200_000; subjects.length < 3 * MADE; ) {
        if (Date.now() > deadline) throw new Error(`${subjects.length} of ${3 * MADE} came`);
        const { events, next } = await reader.directory.eventFeed.read({ limit: 50, ...(after === undefined ? {} : { after }) });
        sequences.push(...events.map(({ sequence }) => sequence));
        subjects.push(...events.filter(({ type }) => type === 'PersonCreated').map(({ subject }) => subject));
        after = next;
      }
      expect(sequences).toEqual(sequences.map((_, index) => String(index + 1).padStart(16, '0')));
      const kept = await durable.rows(other, 'persons');
      expect([...subjects].sort()).toEqual(kept.map(({ id }) => id).sort());
    } finally {
      await reader.close();
      for (const { node } of started) await kill(node);
    }
  });
});
