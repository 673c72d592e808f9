/** Issue 16: one record for each authentication request; each transition is a compare-and-swap. */
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Approver } from 'tenant-idp';
import type { Extension, ExtensionContext } from 'tenant-idp/extension';
import type { Asked } from '../../extensions/ciba/requests/record.js';
import { createRequests, type Requests } from '../../extensions/ciba/requests/requests.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { epochSeconds } from '../support/time/epoch-seconds.js';
import { atOnce } from '../support/time/rounds.js';

const grantTypes = ['urn:openid:params:grant-type:ciba'];
const client = (id: string) => ({
  id,
  name: id,
  secret: `${id}-secret`,
  metadata: { grant_types: grantTypes, backchannel_token_delivery_mode: 'poll' },
  allowedScopes: ['openid'],
});
let context: ExtensionContext;
const capture: Extension = {
  name: 'capture',
  routes(_, given) {
    context = given;
  },
};
const service = useIdp({
  extensions: [capture],
  seed: { ...testSeed, clients: [...testSeed.clients, ...['desk', 'kiosk', 'door', 'van'].map(client)] } as never,
});

let requests: Requests;
let people: { readonly oid: string; readonly tid: string }[];
beforeAll(async () => {
  requests = createRequests(context);
  const names = ['alice@acme.test', 'bob@globex.test'];
  people = [];
  for (const name of names) {
    const [account] = await service.idp.directory.accounts.candidates(name);
    if (account) people.push({ oid: account.person.user.id, tid: account.tenant.id });
  }
});
afterEach(backToPresent);

/** Sets the clock an hour ahead, so that earlier requests no longer count. */
const anew = (): void => passTime(3600);
const asked = (clientId: string, { oid, tid } = people[0] as (typeof people)[number]): Asked => ({
  oid,
  tid,
  clientId,
  scopes: ['openid'],
  messageFormat: 'plaintext',
  initiator: 'user',
});
const start = async (clientId = 'desk', person = people[0]) => {
  const started = await requests.start(asked(clientId, person), { lifetimeSeconds: 120 });
  if (!started) throw new Error('one too many');
  return started;
};
const approver = (person = people[0] as (typeof people)[number]): Approver => ({
  oid: person.oid,
  amr: ['pwd'],
  idp: 'local',
  authTime: epochSeconds(),
});

describe('an authentication request', () => {
  test('waits, is approved once, and is redeemed once', async () => {
    const { authReqId, request } = await start();
    expect(request).toMatchObject({ state: 'pending', clientId: 'desk' });
    expect(await requests.pendingOf(request.oid)).toEqual([request]);
    expect(await requests.approve(request.id, approver())).toMatchObject({ outcome: 'decided', request: { state: 'approved' } });
    expect(await requests.approve(request.id, approver())).toMatchObject({ outcome: 'over', request: { state: 'approved' } });
    expect(await requests.deny(request.id, 'declined')).toMatchObject({ outcome: 'over', request: { state: 'approved' } });
    expect(await requests.pendingOf(request.oid)).toEqual([]);
    expect(await requests.redeem(authReqId, 'another')).toBeUndefined();
    const taken = await atOnce(20, () => requests.redeem(authReqId, 'desk'));
    expect(taken.filter(Boolean)).toMatchObject([
      { isRedeemed: true, record: { state: 'approved', approval: { amr: ['pwd'], idp: 'local' } } },
    ]);
    expect(await requests.redeem(authReqId, 'desk')).toBeUndefined();
  });

  test('D9: is approved by nobody but its user, and not by who acts as the user', async () => {
    anew();
    const { request } = await start();
    expect(await requests.approve(request.id, approver(people[1]))).toEqual({ outcome: 'not-theirs' });
    const [oid, sub, tid] = [people[1]?.oid ?? '', '', ''];
    expect(await requests.approve(request.id, { ...approver(), act: { oid, sub, tid } })).toEqual({ outcome: 'not-theirs' });
    expect((await requests.read(request.id))?.state).toBe('pending');
  });

  test('is over in time, and is remembered for ten minutes', async () => {
    anew();
    const { request, authReqId } = await start();
    passTime(3600 + 121);
    expect((await requests.read(request.id))?.state).toBe('expired');
    expect(await requests.approve(request.id, approver())).toMatchObject({ outcome: 'over', request: { state: 'expired' } });
    expect(await requests.pendingOf(request.oid)).toEqual([]);
    passTime(3600 + 719);
    expect(await requests.redeem(authReqId, 'desk')).toMatchObject({ isRedeemed: false });
    passTime(3600 + 721);
    expect(await requests.redeem(authReqId, 'desk')).toBeUndefined();
  });

  test('D4: of the same client takes the place of the one that waits; the fourth of a user is refused', async () => {
    passTime(7200);
    const first = await start('desk');
    const second = await start('desk');
    expect((await requests.read(first.request.id))?.state).toBe('replaced');
    expect(await requests.approve(first.request.id, approver())).toMatchObject({ outcome: 'over', request: { state: 'replaced' } });
    await start('kiosk');
    await start('door');
    expect(await requests.start(asked('van'), { lifetimeSeconds: 120 })).toBeUndefined();
    expect(await requests.pendingOf(second.request.oid)).toHaveLength(3);
    await requests.deny(second.request.id, 'declined');
    await start('van');
  });

  test('D4: the sixth of a client for a user in ten minutes is refused, and the eleventh of all, whatever became of the others', async () => {
    passTime(10_800);
    for (let count = 0; count < 5; count += 1) await requests.deny((await start()).request.id, 'declined');
    expect(await requests.start(asked('desk'), { lifetimeSeconds: 120 })).toBeUndefined();
    for (let count = 0; count < 5; count += 1) await requests.deny((await start(count === 0 ? 'door' : 'kiosk')).request.id, 'declined');
    for (const client of ['desk', 'kiosk', 'van']) expect(await requests.start(asked(client), { lifetimeSeconds: 120 })).toBeUndefined();
    expect(await requests.start(asked('desk', people[1]), { lifetimeSeconds: 120 })).toBeDefined();
    passTime(10_800 + 601);
    await start();
  });

  test('D4: limits hold for requests that come at once', async () => {
    passTime(14_400);
    const all = await atOnce(12, (index) =>
      requests.start(asked(`${['desk', 'kiosk', 'door', 'van'][index % 4]}`), { lifetimeSeconds: 120 }),
    );
    expect(all.filter(Boolean).length).toBeLessThanOrEqual(10);
    expect((await requests.pendingOf(people[0]?.oid ?? '')).length).toBeLessThanOrEqual(3);
  });

  test('approved and denied at once has one outcome', async () => {
    for (let round = 0; round < 10; round += 1) {
      passTime(18_000 + round * 3600);
      const { request } = await start();
      const decisions = await Promise.all([requests.approve(request.id, approver()), requests.deny(request.id, 'declined')]);
      expect(decisions.filter(({ outcome }) => outcome === 'decided')).toHaveLength(1);
      const state = (await requests.read(request.id))?.state;
      expect(decisions.map((decision) => ('request' in decision ? decision.request.state : ''))).toEqual([state, state]);
    }
  });

  test('D3: is gone once its user is signed out everywhere', async () => {
    passTime(60_000);
    const { request } = await start('desk', people[1]);
    await service.idp.sessions.endAll({ tid: request.tid, userId: request.oid });
    expect(await requests.approve(request.id, approver(people[1]))).toEqual({ outcome: 'unknown' });
  });
});
