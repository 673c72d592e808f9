/**
 * Events at least once (design §8). A node is killed with `kill -9` between the write, the dispatch and the removal of an event. The next
 * node notifies the handlers of the event.
 */
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { IdpEvent } from 'tenant-idp';
import type { Row } from 'tenant-idp/store';
import type { KillPoint, ToEventNode } from '../support/administration/event-node.js';
import { startEventNode } from '../support/administration/event-nodes.js';
import { withDurable } from '../support/stores/durable.js';
import { until } from '../support/time/until.js';

type EventRow = Row & { readonly type: string; readonly subject: string; readonly data: object };
/** Returns the id that the test gave to the event. */
const idOf = ({ subject, data }: Pick<EventRow, 'subject' | 'data'>) => (data as { readonly Title?: string }).Title ?? subject;

const killPoints: readonly KillPoint[] = ['written', 'recorded', 'told'];
const KILLS = process.env.PROVE ? 100 : 1;

const ways = [
  { event: 'an event of a change', raises: false, type: 'PersonCreated', waitsIn: 'persons' },
  { event: 'an event of a user that changes no record', raises: true, type: 'NoteTaken', waitsIn: 'accountEvents' },
];

withDurable(['POSTGRES_URL', 'MONGODB_URL'], (durable) =>
  describe.each(ways)('design §8: a node is killed while it tells $event', ({ raises, type: ofNodes, waitsIn }) => {
    const place = durable.place();
    const heard: IdpEvent[] = [];
    const about = (personId: string) => heard.filter((event) => idOf(event) === personId);
    let node: ChildProcess | undefined;
    afterAll(() => void node?.kill('SIGKILL'));

    const start = async (personId: string, killAt: KillPoint): Promise<ChildProcess> => {
      const started = await startEventNode({ place, personId, killAt, raises }, (message) => {
        if ('heard' in message) heard.push(message.heard);
      });
      node = started.node;
      return node;
    };
    const untilHeard = async (personId: string, times: number): Promise<void> => {
      await until(
        () => about(personId).length,
        (heard) => heard >= times,
      );
      // A kill before the removal of the event would notify the handlers again.
      await until(async () => !(await durable.rows(place, waitsIn)).some((row) => 'outbox' in row && row.outbox === 'yes'));
    };

    test(`${KILLS} times at each point: no event is lost, its id and number stay the same, none is told again but for a kill after it was told`, async () => {
      const made: { readonly personId: string; readonly killAt: KillPoint }[] = [];
      for (let kill = 0; kill < KILLS * killPoints.length; kill += 1) {
        const [personId, killAt] = [randomUUID(), killPoints[kill % killPoints.length] as KillPoint];
        const doomed = await start(personId, killAt);
        const last = made.at(-1);
        if (last) await untilHeard(last.personId, last.killAt === 'told' ? 2 : 1);
        const ended = once(doomed, 'exit');
        doomed.send({ create: 1 } satisfies ToEventNode);
        expect(await ended).toEqual([null, 'SIGKILL']);
        expect([killAt, about(personId).length]).toEqual([killAt, killAt === 'told' ? 1 : 0]);
        made.push({ personId, killAt });
      }
      await start(randomUUID(), 'told');
      await untilHeard(made.at(-1)?.personId ?? '', 2);

      const events = (await durable.rows(place, 'events')) as readonly EventRow[];
      for (const { personId, killAt } of made) {
        const told = about(personId);
        expect([killAt, told.length]).toEqual([killAt, killAt === 'told' ? 2 : 1]);
        expect(new Set(told.map(({ id, sequence }) => `${id} ${sequence}`)).size).toBe(1);
      }
      const numbers = [...new Map(heard.map(({ id, sequence }) => [id, sequence])).values()];
      expect(numbers).toEqual(numbers.toSorted());
      expect(new Set(numbers).size).toBe(made.length);
      // There is one event for each change and no other event. The nodes write only these collections.
      const kept = await durable.rows(place, waitsIn);
      expect(kept.map(({ id }) => id).sort()).toEqual(raises ? [] : made.map(({ personId }) => personId).sort());
      const recorded = events.filter(({ type }) => type === ofNodes);
      expect(recorded.map(idOf).sort()).toEqual(made.map(({ personId }) => personId).sort());
      expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => String(index + 1).padStart(16, '0')));
      if (process.env.PROVE) process.stderr.write(`${JSON.stringify({ kills: made.length, heard: heard.length })}\n`);
    });
  }),
);
