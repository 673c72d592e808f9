/** Issue 15, 4: administrators list impersonations, read and end them. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { IdpEvent } from 'tenant-idp';
import { type AdminClient, administer, adminSeed, adminToken, tenantIds } from '../support/administration/admin.js';
import { keepImpersonations } from '../support/administration/impersonations.js';
import type { Json } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { until } from '../support/time/until.js';

const kept = keepImpersonations();
const ended: IdpEvent<'ImpersonationEnded'>[] = [];
const service = useIdp({ seed: adminSeed, extensions: [kept.extension], limits: { adminRequestsPerMinute: 100_000 } });
let acme: AdminClient;
let tid: Readonly<Record<string, string>>;
let at: string;
beforeAll(async () => {
  tid = await tenantIds(administer(service.issuer, await adminToken(service.issuer, 'root')));
  acme = administer(service.issuer, await adminToken(service.issuer, 'acme'));
  at = `/tenants/${tid.Acme}/impersonations`;
  service.idp.events.on('ImpersonationEnded', (event) => void ended.push(event));
});

const MINUTE_MS = 60_000;
const ago = (minutes: number) => new Date(Date.now() - minutes * MINUTE_MS);
let count = 0;
/** Creates a user whom nobody has impersonated. */
const somebody = (): string => {
  count += 1;
  return `somebody-${count}`;
};
const idsOf = ({ json }: { json: Json }): readonly string[] => json.items.map(({ id }: Json) => id);

describe('service specification 4.2: impersonations of a tenant are listed', () => {
  test('with who, as whom, why, for which application, from when until when', async () => {
    const [targetOid, oid] = [somebody(), somebody()];
    const { id, startedAt, endsAt } = await kept.insert(tid.Acme ?? '', {
      targetOid,
      operator: { oid, sub: 'its-parent', tid: tid.Acme ?? '' },
      reason: 'asked by phone: <b>order</b> 12',
    });
    const told = {
      id,
      status: 'active',
      userId: targetOid,
      operator: { oid, sub: 'its-parent', tid: tid.Acme },
      reason: 'asked by phone: <b>order</b> 12',
      clientId: 'web',
      startedAt: startedAt.toISOString(),
      endsAt: endsAt.toISOString(),
    };
    expect((await acme(`${at}?userId=${targetOid}`)).json).toEqual({ items: [told] });
    expect((await acme(`${at}/${id}`)).json).toEqual(told);
  });

  test('by user, by operator, by both, and by whether they have ended', async () => {
    const [user, operatorId, other] = [somebody(), somebody(), somebody()];
    const of = (operator: string) => ({ operator: { oid: operator, sub: operator, tid: tid.Acme ?? '' } });
    const insert = async (members: object) => (await kept.insert(tid.Acme ?? '', members)).id;
    const byTime = await insert({ targetOid: user, ...of(operatorId), startedAt: ago(90) });
    const byHand = await insert({ targetOid: user, ...of(other), startedAt: ago(5), endedAt: ago(1), endedBy: 'operator' });
    const active = await insert({ targetOid: user, ...of(operatorId), startedAt: ago(4) });
    const elsewhere = await insert({ targetOid: other, ...of(operatorId), startedAt: ago(3) });
    expect(idsOf(await acme(`${at}?userId=${user}`))).toEqual([active, byHand, byTime]);
    expect(idsOf(await acme(`${at}?operatorId=${operatorId}`))).toEqual([elsewhere, active, byTime]);
    expect(idsOf(await acme(`${at}?operatorId=${operatorId}&userId=${user}`))).toEqual([active, byTime]);
    expect(idsOf(await acme(`${at}?userId=${user}&status=active`))).toEqual([active]);
    expect(idsOf(await acme(`${at}?userId=${user}&status=ended&sort=startedAt`))).toEqual([byTime, byHand]);
    const everywhere = await acme(`${at}?status=active&limit=200`);
    expect(idsOf(everywhere)).toEqual(expect.arrayContaining([active, elsewhere]));
    expect(everywhere.json.items.every(({ status }: Json) => status === 'active')).toBe(true);
  });

  test('page by page, in either order, by a cursor that holds for its own list alone', async () => {
    const user = somebody();
    const startedAt = ago(10);
    const rows = await Promise.all(
      Array.from({ length: 7 }, (_, index) =>
        kept.insert(tid.Acme ?? '', {
          targetOid: user,
          ...(index % 2 === 0 ? { endedAt: new Date(), endedBy: 'operator' } : {}),
          startedAt,
        }),
      ),
    );
    const inOrder = rows.map(({ id }) => id).toSorted();
    const pages = async (query: string): Promise<readonly string[]> => {
      const ids: string[] = [];
      for (let after = ''; ; ) {
        const page = await acme(`${at}?userId=${user}&${query}${after && `&after=${encodeURIComponent(after)}`}`);
        ids.push(...idsOf(page));
        after = page.json.next ?? '';
        if (after === '') return ids;
      }
    };
    expect(await pages('limit=3&sort=startedAt')).toEqual(inOrder);
    expect(await pages('limit=2')).toEqual(inOrder.toReversed());
    expect(await pages('limit=1&status=ended')).toEqual(inOrder.filter((id) => rows.find((row) => row.id === id)?.endedAt).toReversed());
    const { next } = (await acme(`${at}?userId=${user}&limit=2`)).json;
    for (const query of [`limit=2&after=${next}`, `userId=${somebody()}&after=${next}`, `userId=${user}&after=x`])
      expect((await acme(`${at}?${query}`)).json.code).toBe('invalid_cursor');
  });
});

describe('G8 an administrator ends an impersonation', () => {
  test('once, and says who did; to end it again changes nothing', async () => {
    const { id } = await kept.insert(tid.Acme ?? '', { targetOid: somebody() });
    const [first, ...others] = await Promise.all(Array.from({ length: 5 }, () => acme.post(`${at}/${id}/end`)));
    expect(first?.json).toMatchObject({ id, status: 'ended', endedBy: 'administrator' });
    for (const { status, text } of others) expect([status, text]).toEqual([200, first?.text]);
    expect((await acme.post(`${at}/${id}/end`)).text).toBe(first?.text);
    const of = () => ended.filter(({ data }) => data.ImpersonationId === id);
    await until(of, (events) => events.length > 0);
    const { id: later } = await kept.insert(tid.Acme ?? '', { targetOid: somebody() });
    await acme.post(`${at}/${later}/end`);
    await until(
      () => ended,
      (events) => events.some(({ data }) => data.ImpersonationId === later),
    );
    expect(of()).toMatchObject([{ tid: tid.Acme, actor: 'client:acme', data: { EndedBy: 'administrator', Reason: 'ticket 4711' } }]);
  });

  test('and what its time has ended stays so', async () => {
    const { id, endsAt } = await kept.insert(tid.Acme ?? '', { targetOid: somebody(), startedAt: ago(90) });
    const told = { status: 'ended', endedBy: 'time', endedAt: endsAt.toISOString() };
    expect((await acme(`${at}/${id}`)).json).toMatchObject(told);
    expect((await acme.post(`${at}/${id}/end`)).json).toMatchObject(told);
  });

  test('with the scope for it, in its own tenant', async () => {
    const { id } = await kept.insert(tid.Acme ?? '');
    const reader = administer(service.issuer, await adminToken(service.issuer, 'acme', 'idp.impersonations:read'));
    expect((await reader(`${at}/${id}`)).status).toBe(200);
    expect((await reader.post(`${at}/${id}/end`)).json.code).toBe('insufficient_scope');
    const globex = administer(service.issuer, await adminToken(service.issuer, 'globex'));
    const foreign = await globex.post(`/tenants/${tid.Globex}/impersonations/${id}/end`);
    expect(foreign.text).toBe((await globex.post(`/tenants/${tid.Globex}/impersonations/${tid.Globex}/end`)).text);
    expect([foreign.status, (await acme(`${at}/${id}`)).json.status]).toEqual([404, 'active']);
  });
});
