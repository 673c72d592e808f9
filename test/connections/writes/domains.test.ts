/** A domain belongs to one connection, also when two are written at the same time, and when a node pauses between its writes. */
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import type { Collection, DirectoryStore, Row } from '../../../lib/store/directory-store.js';
import { type AdminClient, administer, adminSeed, adminToken } from '../../support/administration/admin.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';
import { until } from '../../support/time/until.js';

const memory = memoryDirectory();
/** Functions that release the waiting write of a connection, by id. */
const held = new Map<string, Promise<void>>();
const waiting = new Set<string>();
const hold = (id: string): (() => void) => {
  let go = () => {};
  held.set(
    id,
    new Promise((resolve) => {
      go = resolve;
    }),
  );
  return () => go();
};
const directory = Object.assign(Object.create(memory) as DirectoryStore, {
  collection<R extends Row>(name: string): Collection<R> {
    const rows = memory.collection<R>(name);
    if (name !== 'connections.connections') return rows;
    const wait = async (id: string): Promise<void> => {
      const going = held.get(id);
      if (!going) return;
      waiting.add(id);
      await going;
      held.delete(id);
    };
    return new Proxy(rows, {
      get(target, member) {
        const value = Reflect.get(target, member) as unknown;
        if (typeof value !== 'function') return value;
        return async (...args: unknown[]) => {
          if (member === 'insert') await wait((args[0] as Row).id);
          if (member === 'update') await wait(String(args[0]));
          return value.apply(target, args) as unknown;
        };
      },
    });
  },
});
const service = useIdp({ directory, seed: adminSeed, keys: { encryption: ['what the keys are encrypted with in this test'] } });
let root: AdminClient;
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
});
afterEach(backToPresent);

const given = (id: string, domains: readonly string[]) => ({
  id,
  name: id,
  issuer: 'https://up.example',
  clientId: 'c',
  clientSecret: 's',
  domains,
});
const create = (id: string, domains: readonly string[]) => root.post('/connections', given(id, domains));
const owners = async (domain: string): Promise<string[]> => {
  const { json } = await root('/connections?limit=200');
  return json.items.flatMap(({ id, domains }: { id: string; domains: string[] }) => (domains.includes(domain) ? id : []));
};

/** Ways in which a connection gets the domain: its creation, or a change. */
const ways: readonly (readonly [
  name: string,
  take: (id: string, domain: string) => ReturnType<AdminClient>,
  before: (id: string) => Promise<unknown>,
])[] = [
  ['created', (id, domain) => create(id, [domain]), async () => undefined],
  ['changed', (id, domain) => root.patch(`/connections/${id}`, { domains: [domain] }), (id) => create(id, [])],
];

test.each(ways)('while one is %s, another that wants the domain gets 409', async (name, take, before) => {
  const [first, second, domain] = [`first-${name}`, `second-${name}`, `${name}.test`];
  for (const id of [first, second]) await before(id);
  const go = hold(first);
  const taking = take(first, domain);
  await until(() => waiting.has(first));
  const late = await take(second, domain);
  expect([late.status, late.json.errors]).toMatchObject([409, [{ pointer: '/domains/0' }]]);
  go();
  expect([200, 201]).toContain((await taking).status);
  expect(await owners(domain)).toEqual([first]);
});

test.each(ways)('one that is %s by a process that paused loses the domain to another', async (name, take, before) => {
  const [first, second, domain] = [`paused-${name}`, `brisk-${name}`, `paused-${name}.test`];
  for (const id of [first, second]) await before(id);
  const go = hold(first);
  const taking = take(first, domain);
  await until(() => waiting.has(first));
  passTime(61_000);
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
  expect([200, 201]).toContain((await take(second, domain)).status);
  go();
  const lost = await taking;
  expect([lost.status, lost.json.errors]).toMatchObject([409, [{ pointer: '/domains/0' }]]);
  expect(await owners(domain)).toEqual([second]);
  expect((await root(`/connections/${first}`)).status).toBe(name === 'created' ? 404 : 200);
});
