/** Approvals of authentication requests: the sign-in that they count as, their lifetime, and their records. Service specification 4.10. */
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { Requirement } from 'tenant-idp/extension';
import { Agent, type Answer, titleOf } from '../support/client/agent.js';
import { callsTo, cibaClient, laterInTest, useCallCentre, withClients } from '../support/client/ciba/call-centre.js';
import { endpointsOf, isActive } from '../support/client/endpoints.js';
import { submit } from '../support/sign-in/factors.js';
import { backToPresent } from '../support/time/clock.js';
import { epochSeconds } from '../support/time/epoch-seconds.js';
import { until } from '../support/time/until.js';

const SESSION_SECONDS = 900;
/** Maximum age of a sign-in for the scope `orders.read`, in seconds. */
const FRESH_SECONDS = 60;
const fresh: Requirement = {
  name: 'fresh',
  error: 'login_required',
  silent: 'refuse',
  check: (_, { authTime }, { scopes }) => (scopes.includes('orders.read') && epochSeconds() - authTime > FRESH_SECONDS ? 'open' : 'met'),
  show: () => {
    throw new Error('nobody is shown a page');
  },
};
const service = useCallCentre({
  seed: withClients(cibaClient('desk'), cibaClient('kiosk'), cibaClient('shop', { requireConsent: true })),
  lifetimes: { sessionAbsolute: SESSION_SECONDS },
  extensions: [{ name: 'fresh', requirements: () => [fresh] }],
});
const calls = () => callsTo(service);
const endpoints = () => endpointsOf(service.issuer);
const bob = 'bob@globex.test';
let agent: Agent;
beforeEach(() => {
  agent = new Agent();
});
afterEach(backToPresent);

const pageOf = (id: string) => `${service.issuer}/idp/ciba/requests/${id}`;
/** Opens a page for Bob, and signs him in if the page needs it. */
async function open(url: string): Promise<Answer> {
  const page = await agent.follow(await agent.get(url));
  if (!page.url.includes('/interaction/')) return page;
  return submit(agent, await submit(agent, page, { identifier: bob }), { password: 'bob' });
}
const press = (page: Answer, decision: string) => submit(agent, page, { decision });
async function askBob(fields: Record<string, string> = {}, client = 'desk') {
  const { json } = await calls().ask({ login_hint: bob, ...fields }, client);
  const { id, oid, tid } = await calls().newestOf(bob);
  return { authReqId: json.auth_req_id as string, id, oid, tid };
}

describe('without offline_access everything ends lifetimes.sessionAbsolute after the approval', () => {
  test('to the second, also where the access token would live longer', async () => {
    const { authReqId, oid, tid } = await askBob();
    const at = epochSeconds() * 1000;
    const goTo = (seconds: number) => jest.setSystemTime(at + seconds * 1000);
    goTo(0);
    await calls().approve(bob, { authTime: at / 1000 - 500 });
    goTo(60);
    const { json } = await calls().poll(authReqId);
    expect(json.expires_in).toBe(SESSION_SECONDS - 60);
    const listed = async () =>
      (await service.idp.sessions.list({ tid, userId: oid })).filter(({ clientIds }) => clientIds.includes('desk'));
    expect(await listed()).toMatchObject([{ expiresAt: new Date(at + SESSION_SECONDS * 1000) }]);
    goTo(SESSION_SECONDS - 1);
    expect([await isActive(endpoints(), json.access_token, 'desk'), (await listed()).length]).toEqual([true, 1]);
    expect((await endpoints().userinfo(json.access_token)).status).toBe(200);
    goTo(SESSION_SECONDS);
    expect([await isActive(endpoints(), json.access_token, 'desk'), (await listed()).length]).toEqual([false, 0]);
    expect((await endpoints().userinfo(json.access_token)).status).toBe(401);
  });

  test('with it tokens are refreshed beyond that', async () => {
    const { authReqId } = await askBob({ scope: 'openid offline_access' });
    await calls().approve(bob);
    const { json } = await calls().poll(authReqId);
    laterInTest(SESSION_SECONDS + 10);
    expect((await endpoints().refresh(json.refresh_token, 'desk')).status).toBe(200);
  });
});

describe('a sign-in on a node whose clock is ahead', () => {
  /** Signs Bob in on a node whose clock is ahead, and approves on a node with the right time. */
  async function approvedAhead(fields: Record<string, string> = {}) {
    laterInTest(12);
    await open(`${service.issuer}/idp/ciba`);
    laterInTest(0);
    const asked = await askBob(fields);
    expect(titleOf(await press(await open(pageOf(asked.id)), 'approve'))).toBe('You approved this');
    return asked;
  }

  test('approves as of now: auth_time is not in the future, and sign-out everywhere ends what it gave', async () => {
    const { authReqId, oid, tid } = await approvedAhead();
    const { json } = await calls().poll(authReqId);
    const { auth_time, iat = 0 } = decodeJwt(json.id_token);
    expect(auth_time).toBeLessThanOrEqual(iat);
    expect(await isActive(endpoints(), json.access_token, 'desk')).toBe(true);
    await service.idp.sessions.endAll({ tid, userId: oid });
    expect(await isActive(endpoints(), json.access_token, 'desk')).toBe(false);
  });

  test('gives what takes a recent sign-in no longer than any other', async () => {
    const { authReqId } = await approvedAhead({ scope: 'openid orders.read' });
    laterInTest(FRESH_SECONDS + 5);
    expect((await calls().poll(authReqId)).json.error).toBe('invalid_grant');
  });
});

describe('an approval once it was given', () => {
  const approvedBy = async (page: Answer) => expect(titleOf(await press(page, 'approve'))).toBe('You approved this');

  test('outlives the sign-out of the browser that approved, redeemed or not', async () => {
    const redeemed = await askBob();
    await approvedBy(await open(pageOf(redeemed.id)));
    const waiting = await askBob({}, 'kiosk');
    await approvedBy(await open(pageOf(waiting.id)));
    const { json } = await calls().poll(redeemed.authReqId);
    await agent.follow(await agent.submit(await agent.get(`${service.issuer}/connect/endsession`), { logout: 'yes' }));
    expect((await agent.follow(await agent.get(`${service.issuer}/idp/ciba`))).url).toContain('/interaction/');
    expect(await isActive(endpoints(), json.access_token, 'desk')).toBe(true);
    expect((await calls().poll(waiting.authReqId, 'kiosk')).status).toBe(200);
  });

  test('gives nothing where the tenant has come to ask for a second factor', async () => {
    const { authReqId, id, oid, tid } = await askBob();
    await approvedBy(await open(pageOf(id)));
    const { accounts, tenants } = service.idp.directory;
    await tenants.update(tid, { signIn: { requireMfa: true } });
    await until(async () => (await accounts.findByOid(oid))?.tenant.signIn?.requireMfa);
    expect((await calls().poll(authReqId)).json.error).toBe('invalid_grant');
    await tenants.update(tid, { signIn: { requireMfa: false } });
  });
});

describe('what is listed of a request: what was decided, and nothing before', () => {
  const listedOf = async ({ oid, tid }: { readonly oid: string; readonly tid: string }) => {
    const consents = await service.idp.directory.consents.find(oid);
    const sessions = await service.idp.sessions.list({ tid, userId: oid });
    return [
      consents.flatMap(({ clientId, scopes }) => (clientId === 'shop' ? [scopes] : [])),
      sessions.filter(({ clientIds }) => clientIds.includes('shop')).length,
    ];
  };
  const scope = 'openid profile';
  afterEach(async () => {
    const { oid, tid } = await calls().accountOf(bob);
    await service.idp.directory.consents.withdraw(oid, 'shop');
    await service.idp.sessions.endAll({ tid, userId: oid });
  });

  test('one that waits, or was denied, is neither a consent nor an application of the person', async () => {
    const waiting = await askBob({ scope }, 'shop');
    const page = await open(pageOf(waiting.id));
    expect(await listedOf(waiting)).toEqual([[], 0]);
    expect(titleOf(await press(page, 'deny'))).toBe('You denied this');
    expect((await calls().poll(waiting.authReqId, 'shop')).json.error).toBe('access_denied');
    expect(await listedOf(waiting)).toEqual([[], 0]);
  });

  test('an approved one is a consent of its scopes at once, and an application once it was redeemed', async () => {
    const asked = await askBob({ scope }, 'shop');
    expect(titleOf(await press(await open(pageOf(asked.id)), 'approve'))).toBe('You approved this');
    expect(await listedOf(asked)).toEqual([[['openid', 'profile']], 0]);
    expect((await calls().poll(asked.authReqId, 'shop')).json.scope).toBe(scope);
    expect(await listedOf(asked)).toEqual([[['openid', 'profile']], 1]);
  });

  test('consent covers what the page listed: one that did not list it all is shown again', async () => {
    const asked = await askBob({ scope }, 'shop');
    await service.idp.directory.consents.allow(asked.oid, 'shop', ['openid', 'profile']);
    const bare = await open(pageOf(asked.id));
    expect(bare.body).not.toContain('will be able to:');
    await service.idp.directory.consents.withdraw(asked.oid, 'shop');
    const again = await press(bare, 'approve');
    expect([titleOf(again), again.body.includes('will be able to:')]).toEqual(['Desk shop asks you to sign in', true]);
    expect([await listedOf(asked), (await service.idp.ciba.read(asked.id))?.state]).toEqual([[[], 0], 'pending']);
    expect(titleOf(await press(again, 'approve'))).toBe('You approved this');
    expect(await listedOf(asked)).toEqual([[['openid', 'profile']], 0]);
  });
});
