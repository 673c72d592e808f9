/**
 * M17: a row that an answer cannot contain makes no list fail. The list omits the row and names it; a row from before a limit of a form is
 * listed unchanged. The cases are generated over the lists of the admin API, the members of a row of each, and invalid values.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { type AdminClient, adminClient, administer, adminScopes, adminToken, tenantIds } from '../../support/administration/admin.js';
import { testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { useSweep } from '../../support/time/sweep.js';
import { until } from '../../support/time/until.js';

type Stored = { readonly id: string; readonly version: number } & Record<string, unknown>;

const scopes = [...adminScopes, 'idp.webhooks:read', 'idp.webhooks:write'];
const directory = memoryDirectory();
const sweep = useSweep();
const service = useIdp({
  directory,
  limits: { adminRequestsPerMinute: 1_000_000 },
  seed: { ...testSeed, clients: [...testSeed.clients, adminClient('root', ['*'], scopes)] } as never,
});
let admin: AdminClient;
let tid: string;

/** Invalid values, and one from before each limit of a form. */
const values: Readonly<Record<string, unknown>> = {
  absent: undefined,
  null: null,
  number: 42,
  text: 'no such thing',
  'long text': 'x'.repeat(5000),
  'too long text': 'x'.repeat(70_000),
  list: [null],
  record: { of: null },
};
/** Members that give the row its place in the list, or its owner: a row without them is not in the list. */
const ofIndex = new Set(['id', 'version', 'tid', 'createdAt', 'hasUser']);

/** The lists, each with the collection of its rows. */
const lists: readonly (readonly [path: string, collection: string, create: () => Promise<unknown>])[] = [
  ['/tenants', 'tenants', async () => undefined],
  ['/clients', 'clients', async () => undefined],
  ['/api-resources', 'apiResources', async () => undefined],
  ['/permissions', 'permissions', async () => undefined],
  ['/tenants/{tid}/persons', 'persons', async () => undefined],
  ['/tenants/{tid}/users', 'persons', async () => undefined],
  ['/tenants/{tid}/groups', 'groups', () => admin.post(`/tenants/${tid}/groups`, { name: 'Others' })],
  ['/tenants/{tid}/subsidiaries', 'subsidiaries', () => admin.post(`/tenants/${tid}/subsidiaries`, { name: 'Others' })],
  ['/webhooks', 'events.webhooks', () => admin.post('/webhooks', { url: 'https://93.184.216.34/hook' })],
];

beforeAll(async () => {
  admin = administer(service.issuer, await adminToken(service.issuer, 'root', scopes.join(' ')));
  ({ Acme: tid = '' } = await tenantIds(admin));
  await admin.post(`/tenants/${tid}/subsidiaries`, { name: 'First' });
  await admin.post('/webhooks', { url: 'https://93.184.216.34/first' });
  for (const [, , create] of lists) await create();
});

describe.each(lists)('M17: GET %s', (path, collection) => {
  const stored = () => directory.collection<Stored>(collection);
  const url = () => path.replace('{tid}', tid);
  /** Returns the last row of the list, and the ids of the others. */
  async function target(): Promise<{ readonly row: Stored; readonly others: readonly string[] }> {
    const { items } = (await admin(`${url()}?limit=200`)).json as { items: { id: string; personId?: string }[] };
    // The list of clients also has the caller of the tests.
    const last = items.findLast(({ id }) => id !== 'root');
    const row = await stored().get(last?.personId ?? last?.id ?? '');
    if (!row) throw new Error(`${path} has no row`);
    return { row, others: items.filter((item) => item !== last).map(({ id }) => id) };
  }
  async function expectListed(row: Stored, others: readonly string[], member: string, mayBeElsewhere: boolean): Promise<boolean> {
    const { status, json } = await admin(`${url()}?limit=200`);
    const { items = [], unreadable = [] } = json as {
      items?: { id: string; personId?: string }[];
      unreadable?: { id: string; path: string }[];
    };
    expect([member, status]).toEqual([member, 200]);
    expect(items.map(({ id }) => id)).toEqual(expect.arrayContaining([...others]));
    const isListed = items.some(({ id, personId = id }) => personId === row.id);
    const names = unreadable.filter(({ id }) => id === row.id || items.every((item) => item.id !== id));
    if (!mayBeElsewhere) expect([member, isListed || names.length > 0]).toEqual([member, true]);
    return isListed;
  }

  test('each member of a row with each bad value: the others are listed, and the row is listed or named', async () => {
    const { row, others } = await target();
    const members = Object.keys(row).filter((name) => !['id', 'version'].includes(name));
    let tried = 0;
    try {
      for (const member of members)
        for (const [kind, value] of Object.entries(values)) {
          // The store refuses a list as the value by which it sorts.
          const isWritten = await stored()
            .put({ ...row, [member]: value })
            .then(
              () => true,
              () => false,
            );
          if (!isWritten) continue;
          tried += 1;
          await expectListed(row, others, `${member}: ${kind}`, ofIndex.has(member));
        }
    } finally {
      await stored().put(row);
    }
    expect(tried).toBeGreaterThan(members.length * 5);
    expect(await expectListed(row, others, 'sound', false)).toBe(true);
  });

  test('a row that is older than the limits of a form is listed as it is, and a page full of bad rows leads on', async () => {
    const { row, others } = await target();
    const old = Object.fromEntries(
      Object.entries(row).flatMap(([name, value]) =>
        typeof value === 'string' && value.length > 3 && /^(?:name|description|givenName|familyName|email|pictureUrl)$/.test(name)
          ? [[name, 'x'.repeat(5000)]]
          : [],
      ),
    );
    await stored().put({ ...row, ...old });
    const isListed = await expectListed(row, others, 'old', false).finally(() => stored().put(row));
    expect(isListed).toBe(true);
    await stored().put({ ...row, updatedAt: 5 });
    const seen: string[] = [];
    for (let after: string | undefined; ; ) {
      const { status, json } = await admin(`${url()}?limit=1${after === undefined ? '' : `&after=${encodeURIComponent(after)}`}`);
      expect(status).toBe(200);
      seen.push(...(json.items as { id: string }[]).map(({ id }) => id));
      after = json.next as string | undefined;
      if (after === undefined) break;
    }
    await stored().put(row);
    expect(seen).toEqual([...others]);
  });
});

test('M18: health names a bad row that nobody read, once a sweep came by, and forgets a repaired one', async () => {
  const rows = directory.collection<Stored>('events.webhooks');
  const [row] = await rows.find({});
  await rows.put({ ...(row as Stored), status: 7 });
  const problems = async () => {
    sweep();
    return (await service.idp.health()).problems.filter(({ code }) => code === 'record_unreadable');
  };
  expect(await until(problems, ({ length }) => length > 0)).toEqual([
    { code: 'record_unreadable', collection: 'events.webhooks', id: row?.id, path: '/status', tid: '*' },
  ]);
  await rows.put(row as Stored);
  expect(await until(problems, ({ length }) => length === 0)).toEqual([]);
});

test('M17: a person whose user is gone is named by the list of users, by the log once, and is listed by that of persons', async () => {
  const rows = directory.collection<Stored>('persons');
  const { items } = (await admin(`/tenants/${tid}/users`)).json as { items: { id: string; personId: string }[] };
  const [first, ...others] = items;
  const row = (await rows.get(first?.personId ?? '')) as Stored;
  const { user: _, ...rest } = row;
  await rows.put(rest as Stored);
  const users = await admin(`/tenants/${tid}/users`);
  expect([users.status, users.json.items.map(({ id }: { id: string }) => id)]).toEqual([200, others.map(({ id }) => id)]);
  expect(users.json.unreadable).toEqual([{ id: row.id, path: expect.any(String) }]);
  await admin(`/tenants/${tid}/users`);
  const said = service.logged.filter(
    ([fields, message]) => message.startsWith('a list left out') && JSON.stringify(fields).includes(row.id),
  );
  expect(said).toHaveLength(1);
  const persons = await admin(`/tenants/${tid}/persons`);
  expect(persons.json.items.map(({ id }: { id: string }) => id)).toContain(row.id);
  await rows.put(row);
});
