/** Issue 16: concurrent requests are counted one after the other, in whatever order their records are written. Threat D4. */
import { afterEach, describe, expect, test } from '@jest/globals';
import type { IdpEvent } from 'tenant-idp';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import { callsTo, cibaClient, useCallCentre, withClients } from '../support/client/ciba/call-centre.js';
import { backToPresent } from '../support/time/clock.js';
import { atOnce } from '../support/time/rounds.js';
import { until } from '../support/time/until.js';

const store = memoryArtifacts();
/** Delays the record of the next request. */
let hold: { isReached: boolean; readonly over: Promise<void> } | undefined;
const ids = ['desk', 'kiosk', 'door', 'van'];
const service = useCallCentre({
  seed: withClients(...ids.map((id) => cibaClient(id))),
  artifacts: {
    ...store,
    async commit(writes) {
      const here = hold;
      if (here?.isReached === false && writes.some(({ key }) => key.includes('ciba.requests'))) {
        here.isReached = true;
        await here.over;
      }
      return store.commit(writes);
    },
  },
});
const calls = () => callsTo(service);
const bob = 'bob@globex.test';
const ask = (client: string) => calls().ask({ login_hint: bob }, client);
const pendingOfBob = async () => service.idp.ciba.pendingOf((await calls().accountOf(bob)).oid);
afterEach(backToPresent);

describe('a request whose record is written late', () => {
  /** Starts a request that writes its record only after the second request was answered. */
  async function overtaken(first: string, second: string) {
    let release = (): void => {};
    const over = new Promise<void>((resolve) => {
      release = resolve;
    });
    const held = { isReached: false, over };
    hold = held;
    const late = ask(first);
    await until(() => held.isReached);
    const answered = await ask(second);
    release();
    return { late: await late, answered };
  }

  test('is refused where another of its client took its place: nobody is asked by it, and nobody waits for it', async () => {
    const told: IdpEvent[] = [];
    service.idp.directory.events.on('BackchannelAuthenticationRequested', async (event) => void told.push(event));
    const { late, answered } = await overtaken('desk', 'desk');
    expect(late).toMatchObject({ status: 400, json: { error: 'access_denied' } });
    expect((await calls().poll(answered.json.auth_req_id)).json.error).toBe('authorization_pending');
    const [waiting, ...others] = await pendingOfBob();
    expect([waiting?.clientId, others]).toEqual(['desk', []]);
    await ask('kiosk');
    const other = (await pendingOfBob()).find(({ clientId }) => clientId === 'kiosk');
    const heard = await until(
      () => told.map(({ data }) => (data as { RequestId?: string }).RequestId),
      (found) => found.includes(other?.id),
    );
    expect(heard).toEqual([waiting?.id, other?.id]);
  });

  test('waits like any other beside one of another client', async () => {
    const { late, answered } = await overtaken('desk', 'kiosk');
    expect([late.status, answered.status, (await pendingOfBob()).length]).toEqual([200, 200, 2]);
  });

  test('counts among the three that wait', async () => {
    await ask('desk');
    await ask('kiosk');
    const { late, answered } = await overtaken('door', 'van');
    expect([late.status, answered.json.error, (await pendingOfBob()).length]).toEqual([200, 'access_denied', 3]);
  });
});

test('D4: of many that come at once ten begin, three wait at most, and each client has the one answer that its person sees', async () => {
  const answers = await atOnce(16, (index) => ask(ids[index % 4] as string));
  const begun = answers.flatMap(({ status, json }, index) => (status === 200 ? [{ id: json.auth_req_id, client: ids[index % 4] }] : []));
  expect(begun.length).toBeLessThanOrEqual(10);
  expect(answers.every(({ status, json }) => status === 200 || json.error === 'access_denied')).toBe(true);
  const outcomes = await Promise.all(begun.map(async ({ id, client }) => [client, (await calls().poll(id, client)).json.error]));
  const waiting = await pendingOfBob();
  // The ten requests are of three clients, and each client has one pending request.
  expect(waiting).toHaveLength(3);
  expect(outcomes.flatMap(([client, error]) => (error === 'authorization_pending' ? [client] : [])).toSorted()).toEqual(
    waiting.map(({ clientId }) => clientId).toSorted(),
  );
  expect((await ask('desk')).json.error).toBe('access_denied');
});
