/** Threats D3, F5: a request ends with its user, and neither its client nor anybody else learns why. */
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { IdpEvent } from 'tenant-idp';
import { type CibaAnswer, callsTo, cibaClient, laterInTest, useCallCentre, withClients } from '../support/client/ciba/call-centre.js';
import { endpointsOf, isActive } from '../support/client/endpoints.js';
import { backToPresent } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

const service = useCallCentre({ seed: withClients(cibaClient('desk'), cibaClient('kiosk'), cibaClient('door')) });
const calls = () => callsTo(service);
afterEach(backToPresent);

const decisions: IdpEvent[] = [];
beforeAll(() => {
  for (const type of ['Approved', 'Denied'] as const)
    service.idp.directory.events.on(`BackchannelAuthentication${type}`, async (event) => void decisions.push(event));
});

let made = 0;
/** Creates a user in a tenant of their own. */
async function somebody() {
  made += 1;
  const userName = `passing-${made}@home.example`;
  const { id: tid } = await service.idp.directory.tenants.create({ name: `Passing ${made}` });
  const user = { userName, status: 'active' } as const;
  const person = await service.idp.tenant(tid).persons.create({ givenName: 'Pia', familyName: 'Passing', email: userName, user } as never);
  return { tid, personId: person.id, oid: person.user?.id ?? '', userName };
}
type Somebody = Awaited<ReturnType<typeof somebody>>;

const ways: readonly (readonly [string, (who: Somebody) => Promise<unknown>])[] = [
  ['a user who is disabled', ({ tid, oid }) => service.idp.tenant(tid).users.disable(oid)],
  ['a user who is removed', ({ tid, oid }) => service.idp.tenant(tid).users.remove(oid)],
  ['a person who is erased', ({ tid, personId }) => service.idp.tenant(tid).persons.remove(personId)],
  ['a tenant that is disabled', ({ tid }) => service.idp.directory.tenants.disable(tid)],
  ['a tenant that is removed', ({ tid }) => service.idp.directory.tenants.remove(tid)],
];

const said = ({ status, json }: CibaAnswer) => [status, json];

describe.each(ways)('%s', (_, end) => {
  test('leaves no request: its client gets invalid_grant, as for an unknown one, whether it waited or was approved', async () => {
    const who = await somebody();
    const redeemed = (await calls().poll(await calls().approved({}, 'door', who.userName), 'door')).json;
    const approved = await calls().approved({}, 'kiosk', who.userName);
    const waiting = await calls().ask({ login_hint: who.userName });
    const { id } = await calls().newestOf(who.userName);
    const approver = await calls().approverOf(who.userName);
    expect((await calls().poll(waiting.json.auth_req_id)).json.error).toBe('authorization_pending');
    const unknown = said(await calls().poll('unknown'));
    expect(unknown).toMatchObject([400, { error: 'invalid_grant' }]);

    await end(who);
    // The account is read from caches, which each node updates a little later.
    await until(async () => (await calls().poll(approved, 'kiosk')).json.error === 'invalid_grant');
    expect(said(await calls().poll(approved, 'kiosk'))).toEqual(unknown);
    expect(said(await calls().poll(waiting.json.auth_req_id))).toEqual(unknown);
    expect(await isActive(endpointsOf(service.issuer), redeemed.access_token, 'door')).toBe(false);
    expect([await service.idp.ciba.read(id), await service.idp.ciba.pendingOf(who.oid)]).toEqual([undefined, []]);
    expect(await service.idp.ciba.approve(id, approver)).toEqual({ outcome: 'unknown' });
    expect(await service.idp.ciba.deny(id)).toEqual({ outcome: 'unknown' });
    expect((await calls().ask({ login_hint: who.userName })).json.error).toBe('unknown_user_id');
    expect((await calls().ask({ login_hint: who.oid })).json.error).toBe('unknown_user_id');
    // Only the two approved requests may have events, because nobody decided the pending request.
    expect(decisions.filter(({ data }) => (data as { RequestId?: string }).RequestId === id)).toEqual([]);
  });
});

test('D3: a user who is enabled again has no request of before, and can be asked anew', async () => {
  const who = await somebody();
  const { json } = await calls().ask({ login_hint: who.userName });
  const approved = await calls().approved({}, 'kiosk', who.userName);
  await service.idp.tenant(who.tid).users.disable(who.oid);
  await until(async () => (await calls().poll(approved, 'kiosk')).json.error === 'invalid_grant');
  await service.idp.tenant(who.tid).users.enable(who.oid);
  // The cutoff of the user's sign-ins covers its whole second.
  laterInTest(2);
  await until(async () => (await calls().ask({ login_hint: who.userName }, 'door')).status === 200);
  expect((await calls().poll(json.auth_req_id)).json.error).toBe('invalid_grant');
  expect((await calls().poll(approved, 'kiosk')).json.error).toBe('invalid_grant');
  expect((await service.idp.ciba.pendingOf(who.oid)).map(({ clientId }) => clientId)).toEqual(['door']);
});
