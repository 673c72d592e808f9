/** Polls: the answers to a client that sends its `auth_req_id`. Service specification 4.4 and 4.10. @see CIBA Core §10.1, §11 */
import { afterEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import * as openid from 'openid-client';
import { callsTo, cibaClient, laterInTest, useCallCentre, withClients } from '../support/client/ciba/call-centre.js';
import { endpointsOf, isActive } from '../support/client/endpoints.js';
import { backToPresent } from '../support/time/clock.js';
import { epochSeconds } from '../support/time/epoch-seconds.js';
import { atOnce } from '../support/time/rounds.js';
import { until } from '../support/time/until.js';

const service = useCallCentre({
  seed: withClients(
    cibaClient('desk'),
    cibaClient('kiosk'),
    cibaClient('reader', { accessTokenType: 'jwt', idTokenClaims: 'scopes' }),
    cibaClient('shop', { requireConsent: true }),
  ),
});
const calls = () => callsTo(service);
const endpoints = () => endpointsOf(service.issuer);
const alice = 'alice@acme.test';
afterEach(backToPresent);

describe('poll', () => {
  test('authorization_pending, then tokens of the approver’s sign-in', async () => {
    const { json } = await calls().ask({ login_hint: alice, scope: 'openid profile' });
    expect(await calls().poll(json.auth_req_id)).toMatchObject({ status: 400, json: { error: 'authorization_pending' } });
    const authTime = epochSeconds() - 100;
    await calls().approve(alice, { amr: ['pwd', 'mfa'], authTime });
    const { status, json: tokens, headers } = await calls().poll(json.auth_req_id);
    expect([status, tokens.token_type, headers.get('cache-control')]).toEqual([200, 'Bearer', 'no-store']);
    const { oid, tid } = await calls().accountOf(alice);
    const claims = decodeJwt(tokens.id_token);
    expect(claims).toMatchObject({ sub: oid, tid, aud: 'desk', amr: ['pwd', 'mfa'], idp: 'local', auth_time: authTime });
    expect(claims.sid).toEqual(expect.any(String));
    expect(tokens.session_state).toBeUndefined();
    expect(await isActive(endpoints(), tokens.access_token, 'desk')).toBe(true);
    expect((await endpoints().userinfo(tokens.access_token)).json).toMatchObject({ sub: oid, given_name: 'Alice' });
  });

  test('openid-client polls: it waits the interval, and gets tokens', async () => {
    const config = await openid.discovery(new URL(service.issuer), 'desk', undefined, openid.ClientSecretBasic('desk-secret'), {
      execute: [openid.allowInsecureRequests],
    });
    const response = await openid.initiateBackchannelAuthentication(config, { scope: 'openid', login_hint: alice });
    expect(response).toMatchObject({ expires_in: 120, interval: 5 });
    await calls().approve(alice);
    const tokens = await openid.pollBackchannelAuthenticationGrant(config, { ...response, interval: 1 });
    expect(tokens.claims()?.sub).toBe((await calls().accountOf(alice)).oid);
  });

  test('D2: not more often than the interval: slow_down, and 5 seconds more from then on', async () => {
    const { json } = await calls().ask({ login_hint: alice });
    const poll = async () => (await calls().poll(json.auth_req_id)).json.error;
    expect([await poll(), await poll()]).toEqual(['authorization_pending', 'slow_down']);
    laterInTest(5);
    expect(await poll()).toBe('slow_down');
    // Two early polls raise the interval to 15 seconds.
    laterInTest(5 + 14);
    expect(await poll()).toBe('slow_down');
    laterInTest(19 + 20);
    expect(await poll()).toBe('authorization_pending');
    await calls().approve(alice);
    expect((await calls().poll(json.auth_req_id)).status).toBe(200);
  });

  test('access_denied once the person denied it', async () => {
    const { json } = await calls().ask({ login_hint: alice });
    await calls().deny(alice);
    expect(await calls().poll(json.auth_req_id)).toMatchObject({ status: 400, json: { error: 'access_denied' } });
  });

  test('expired_token until ten minutes past the end, then invalid_grant; an approval that was not redeemed in time is over', async () => {
    const { json } = await calls().ask({ login_hint: alice });
    const other = await calls().approved({}, 'kiosk');
    laterInTest(121);
    expect(await calls().poll(json.auth_req_id)).toMatchObject({ status: 400, json: { error: 'expired_token' } });
    expect(await calls().poll(other, 'kiosk')).toMatchObject({ status: 400, json: { error: 'expired_token' } });
    laterInTest(719);
    expect(await calls().poll(json.auth_req_id)).toMatchObject({ json: { error: 'expired_token' } });
    laterInTest(721);
    expect(await calls().poll(json.auth_req_id)).toMatchObject({ json: { error: 'invalid_grant' } });
  });

  test('invalid_grant for an unknown, a foreign and a redeemed auth_req_id, byte by byte', async () => {
    const id = await calls().approved();
    const answers = [await calls().poll('unknown'), await calls().poll(id, 'kiosk')];
    expect((await calls().poll(id)).status).toBe(200);
    answers.push(await calls().poll(id));
    expect(answers[0]).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    for (const { status, json } of answers) expect([status, json]).toEqual([answers[0]?.status, answers[0]?.json]);
  });

  test('auth_req_id is required; a client without the grant is unauthorized_client', async () => {
    expect(await calls().poll('')).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
    expect(await calls().poll('x', 'web')).toMatchObject({ status: 400, json: { error: 'unauthorized_client' } });
  });
});

describe('redemption', () => {
  const rounds = process.env.PROVE ? 200 : 3;

  test(`D1: 50 parallel redemptions of one auth_req_id × ${rounds}: one success each`, async () => {
    for (let round = 0; round < rounds; round += 1) {
      laterInTest(round * 700);
      const id = await calls().approved();
      const answers = await atOnce(50, () => calls().poll(id));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(answers.filter(({ json }) => json.error === 'invalid_grant')).toHaveLength(49);
    }
  });

  test('a refresh token with offline_access, whose tokens keep the sid; none without it', async () => {
    const { json } = await calls().poll(await calls().approved({ scope: 'openid offline_access' }));
    const refreshed = await endpoints().refresh(json.refresh_token, 'desk');
    expect([refreshed.status, decodeJwt(refreshed.json.id_token).sid]).toEqual([200, decodeJwt(json.id_token).sid]);
    const { json: plain } = await calls().poll(await calls().approved());
    expect(plain.refresh_token).toBeUndefined();
  });

  test('accessTokenType, idTokenClaims and JWT as for codes', async () => {
    const { json } = await calls().poll(await calls().approved({ scope: 'openid profile orders.read' }, 'reader'), 'reader');
    expect(decodeJwt(json.access_token)).toMatchObject({ client_id: 'reader', aud: ['orders'], idp: 'local' });
    expect(decodeJwt(json.id_token)).toMatchObject({ given_name: 'Alice' });
  });

  test('a client that needs consent gets what the person allowed, and nothing without it', async () => {
    expect(await calls().poll(await calls().approved({ scope: 'openid profile' }, 'shop'), 'shop')).toMatchObject({
      json: { error: 'invalid_grant' },
    });
    const { oid } = await calls().accountOf(alice);
    await service.idp.directory.consents.allow(oid, 'shop', ['openid']);
    const { json } = await calls().poll(await calls().approved({ scope: 'openid profile' }, 'shop'), 'shop');
    expect(json.scope).toBe('openid');
  });
});

describe('each approval is a grant of its own', () => {
  test('shown among the person’s sessions, and ended there', async () => {
    const carol = 'carol@acme.test';
    const { oid, tid } = await calls().accountOf(carol);
    const { json } = await calls().poll(await calls().approved({}, 'desk', carol));
    const [own, ...others] = await service.idp.sessions.list({ tid, userId: oid });
    expect(others).toEqual([]);
    expect(own).toMatchObject({ amr: ['pwd'], idp: 'local', clientIds: ['desk'] });
    expect(await service.idp.sessions.end({ tid, userId: oid }, own?.id ?? '')).toBe(true);
    expect(await isActive(endpoints(), json.access_token, 'desk')).toBe(false);
    expect(await service.idp.sessions.end({ tid, userId: oid }, own?.id ?? '')).toBe(false);
  });

  test('D3, F5: ended by sign-out everywhere and by disabling; a request that waits dies with them', async () => {
    const { oid, tid } = await calls().accountOf('bob@globex.test');
    const bob = { login_hint: 'bob@globex.test' };
    const { json } = await calls().poll(await calls().approved(bob, 'desk', 'bob@globex.test'));
    const waiting = await calls().ask(bob, 'kiosk');
    await service.idp.sessions.endAll({ tid, userId: oid });
    expect(await isActive(endpoints(), json.access_token, 'desk')).toBe(false);
    expect((await calls().poll(waiting.json.auth_req_id, 'kiosk')).json.error).toBe('invalid_grant');

    laterInTest(10);
    const approved = await calls().approved(bob, 'desk', 'bob@globex.test');
    await service.idp.directory.forTenant(tid).users.disable(oid);
    await until(async () => (await calls().poll(approved)).json.error === 'invalid_grant');
    await service.idp.directory.forTenant(tid).users.enable(oid);
  });
});
