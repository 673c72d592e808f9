/** design §8: the pull feed, through the admin API. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { IdpEvent } from 'tenant-idp';
import { type AdminClient, adminClient, administer, adminToken } from '../support/administration/admin.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { until } from '../support/time/until.js';

const scopes = ['idp.events:read', 'idp.tenants:write'];
const seed = {
  ...testSeed,
  clients: [...testSeed.clients, adminClient('root', ['*'], scopes), adminClient('globex', ['Globex'], scopes)],
};
const service = useIdp({ seed });
let root: AdminClient;
let globex: AdminClient;
const tids: Record<string, string> = {};
const dispatched = async () => {
  const { persons } = service.idp.tenant(tids.Globex as string);
  const { id } = await persons.create({ givenName: 'Last', familyName: 'One' });
  await until(async () => {
    const { items } = (await root('/events?type=PersonCreated&limit=200')).json as { items: IdpEvent[] };
    return items.some(({ subject }) => subject === id);
  });
};

beforeAll(async () => {
  for (const { id, name } of await service.idp.directory.tenants.find()) tids[name] = id;
  root = administer(service.issuer, await adminToken(service.issuer, 'root', scopes.join(' ')));
  globex = administer(service.issuer, await adminToken(service.issuer, 'globex', scopes.join(' ')));
  await dispatched();
});

async function all(client: AdminClient, path: string, limit = 7): Promise<readonly IdpEvent[]> {
  const found: IdpEvent[] = [];
  for (let after = ''; ; ) {
    const { status, json } = await client(`${path}${path.includes('?') ? '&' : '?'}limit=${limit}${after && `&after=${after}`}`);
    expect(status).toBe(200);
    found.push(...json.items);
    after = json.next;
    if (json.items.length < limit) return found;
  }
}

describe('design §8: the feed', () => {
  test('has every event in one order without a gap, records of the seed included, and who made them', async () => {
    const events = await all(root, '/events');
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => String(index + 1).padStart(16, '0')));
    const ofSeed = events.filter(({ actor }) => actor === 'seed').map(({ type }) => type);
    for (const type of ['TenantCreated', 'PersonCreated', 'UserCreated', 'ClientCreated', 'UserClaimAdded']) expect(ofSeed).toContain(type);
    expect(events.filter(({ type, subject }) => type === 'ClientCreated' && subject === 'root')).toHaveLength(1);
  });

  test('of a tenant has the events of that tenant, in the same order', async () => {
    const every = await all(root, '/events');
    const own = every.filter(({ tid }) => tid === tids.Globex);
    expect(own.length).toBeGreaterThan(3);
    expect(await all(globex, `/tenants/${tids.Globex}/events`)).toEqual(own);
    expect(await all(globex, `/tenants/${tids.Globex}/events?type=UserCreated,TenantCreated`)).toEqual(
      own.filter(({ type }) => type === 'UserCreated' || type === 'TenantCreated'),
    );
  });

  test('H1: of another tenant is as one that does not exist; of the instance is for who administers all tenants', async () => {
    const foreign = await globex(`/tenants/${tids.Acme}/events`);
    const absent = await globex('/tenants/01a205bf-b84b-7614-8e72-78907672f9cb/events');
    expect([foreign.status, foreign.text]).toEqual([404, absent.text]);
    expect((await globex('/events')).status).toBe(403);
  });

  test('a write through the API tells actor and request, as its answer names it', async () => {
    const answer = await root('/tenants', { method: 'POST', body: { name: 'Umbrella' } });
    expect(answer.status).toBe(201);
    await dispatched();
    const [event] = await all(root, `/tenants/${answer.json.id}/events`);
    expect(event).toMatchObject({ type: 'TenantCreated', subject: answer.json.id, tid: answer.json.id, actor: 'client:root' });
    expect(event?.requestid).toEqual(expect.any(String));
    expect(answer.headers.get('x-request-id')).toBe(event?.requestid);
  });

  test('a cursor that is none is refused', async () => {
    for (const query of ['after=x', 'after=5', 'type=nothing', 'limit=0', 'limit=201'])
      expect([query, (await root(`/events?${query}`)).status]).toEqual([query, 400]);
  });
});
