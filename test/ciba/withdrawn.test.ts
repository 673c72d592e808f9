/** Withdrawn consents, and the end of a client's access: approvals that the client has not redeemed end, and pending requests stay. */
import { expect, test } from '@jest/globals';
import { callsTo, cibaClient, useCallCentre, withClients } from '../support/client/ciba/call-centre.js';
import { endpointsOf, isActive } from '../support/client/endpoints.js';

const service = useCallCentre({ seed: withClients(cibaClient('desk'), cibaClient('kiosk'), cibaClient('shop', { requireConsent: true })) });
const calls = () => callsTo(service);
const alice = 'alice@acme.test';
const isLive = (token: string, client: string) => isActive(endpointsOf(service.issuer), token, client);

test('F5: the tokens of an approval end, and those of another client go on', async () => {
  const { oid } = await calls().accountOf(alice);
  const { consents } = service.idp.directory;
  await consents.allow(oid, 'shop', ['openid']);
  const [own, other] = [
    (await calls().poll(await calls().approved({}, 'shop'), 'shop')).json,
    (await calls().poll(await calls().approved())).json,
  ];
  expect(await consents.withdraw(oid, 'shop')).toBe(true);
  expect([await isLive(own.access_token, 'shop'), await isLive(other.access_token, 'desk')]).toEqual([false, true]);
});

test.each([
  ['shop', 'a consent that is withdrawn'],
  ['kiosk', 'the end of the access of a client without a consent'],
])('F5: %s: an approval from before %s gives no tokens, also after a new consent', async (client) => {
  const { oid, tid } = await calls().accountOf(alice);
  const { consents } = service.idp.directory;
  if (client === 'shop') await consents.allow(oid, client, ['openid']);
  await calls().poll(await calls().approved({}, client), client);
  const approved = await calls().approved({}, client);
  const waiting = await calls().ask({ login_hint: alice }, client);
  expect(await service.idp.sessions.endClient({ tid, userId: oid }, client)).toBe(true);
  if (client === 'shop') await consents.allow(oid, client, ['openid']);
  expect((await calls().poll(approved, client)).json.error).toBe('invalid_grant');
  // Nobody has answered the other request, and the user may still answer the request.
  expect((await calls().poll(waiting.json.auth_req_id, client)).json.error).toBe('authorization_pending');
  await calls().approve(alice);
  expect((await calls().poll(waiting.json.auth_req_id, client)).json.access_token).toEqual(expect.any(String));
});
