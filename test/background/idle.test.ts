/** Performance: calls of an idle node to its stores, and the delay until events of one node reach the listeners of another. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { type Instances, startInstances } from '../support/service/instances.js';

const calls: string[] = [];
const counted = <T extends object>(name: string, store: T): T =>
  new Proxy(store, {
    get(target, member) {
      const value: unknown = Reflect.get(target, member);
      if (typeof value !== 'function' || member === 'collection') return value;
      return (...parameters: unknown[]) => {
        calls.push(`${name}.${String(member)}`);
        return Reflect.apply(value, target, parameters) as unknown;
      };
    },
  });

const [rows, artifacts] = [memoryDirectory(), memoryArtifacts()];
const directory = { ...rows, collection: ((name) => counted(name, rows.collection(name))) as typeof rows.collection };
let nodes: Instances;
beforeAll(async () => {
  // Every call of both nodes is counted. The first node dispatches.
  nodes = await startInstances(2, () => ({ artifacts: counted('artifacts', artifacts), directory }));
}, 30_000);
afterAll(() => nodes.close());

const SECONDS = 10;

test('performance: an idle node asks its directory at most four times a second', async () => {
  await sleep(4_000);
  calls.length = 0;
  await sleep(SECONDS * 1000);
  const counts: Record<string, number> = {};
  for (const call of calls) counts[call] = (counts[call] ?? 0) + 1;
  const ofDirectory = calls.filter((call) => !call.startsWith('artifacts.')).length;
  if (process.env.SHOW_CALLS) process.stderr.write(`${JSON.stringify(counts, undefined, 1)}\n`);
  expect(ofDirectory / SECONDS / nodes.idps.length).toBeLessThanOrEqual(4);
}, 30_000);

test('performance: events are dispatched at once on the node that wrote and dispatches, and within a second of another node', async () => {
  const heard = new Map<string, number>();
  for (const idp of nodes.idps) idp.events.on('TenantCreated', ({ subject }) => void heard.set(subject, performance.now()));
  const late: number[][] = [[], []];
  for (let round = 0; round < 4; round += 1)
    for (const [index, idp] of nodes.idps.entries()) {
      const { id } = await idp.directory.tenants.create({ name: randomUUID() });
      const written = performance.now();
      while (!heard.has(id)) await sleep(5);
      late[index]?.push((heard.get(id) as number) - written);
    }
  // The median is compared, because the machine of the tests may be busy.
  const medians = late.map((each) => each.sort((one, other) => one - other)[2] ?? 0);
  const [best = 0, worst = 0] = medians.sort((one, other) => one - other);
  if (process.env.SHOW_CALLS) process.stderr.write(`${JSON.stringify(late)}\n`);
  expect(best).toBeLessThan(100);
  // The node looks once each second, and the machine needs time.
  expect(worst).toBeLessThan(1_500);
}, 30_000);
