/** Withdrawals of consents: the grants and tokens of the client end on every node, the client is notified, and all else continues. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { ArtifactStore, DirectoryStore } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { recordedEvents } from '../../support/administration/recorded-events.js';
import { Agent, authorizeUrl, createPkce, type Json, obtainTokens } from '../../support/client/agent.js';
import { callLoopback, type LogoutReceiver, startLogoutReceiver } from '../../support/client/receivers/logout-receiver.js';
import { isActive, redeem, refresh, userinfo } from '../../support/client/steps.js';
import { type Instances, startInstances } from '../../support/service/instances.js';
import { testSeed } from '../../support/service/seed.js';
import { allow, allowedTokens, isQuestion, silentError } from '../../support/sign-in/consents.js';
import { backToPresent, passTime } from '../../support/time/clock.js';
import { until } from '../../support/time/until.js';

let receiver: LogoutReceiver;
let shared: DirectoryStore;
let service: Instances;
/** Whether the first node cannot list the records of an account. */
let isListDown = false;
const CLIENT = 'third-party';

beforeAll(async () => {
  receiver = await startLogoutReceiver();
  shared = memoryDirectory();
  const artifacts = memoryArtifacts();
  const failing: ArtifactStore = {
    ...artifacts,
    listByAccount: (account) => (isListDown ? Promise.reject(new Error('away')) : artifacts.listByAccount(account)),
  };
  const clients = testSeed.clients.map((client) => ({
    ...client,
    metadata: { ...client.metadata, ...([CLIENT, 'web'].includes(client.id) ? { backchannel_logout_uri: receiver.url } : {}) },
  }));
  service = await startInstances(2, (node) => ({ artifacts: node === 0 ? failing : artifacts, directory: shared }), {
    seed: { ...testSeed, clients } as unknown as typeof testSeed,
    outgoing: callLoopback,
  });
});
afterEach(() => {
  isListDown = false;
  backToPresent();
});
afterAll(async () => {
  await service.close();
  receiver.close();
});

const idp = (node = 0) => service.idps[node] as Instances['idps'][number];
const userOf = async (userName: string) => {
  const [account] = await idp().directory.accounts.candidates(userName);
  return { tid: account?.tenant.id ?? '', userId: account?.person.user.id ?? '' };
};
const withdraw = (userId: string, node = 0) => idp(node).directory.consents.withdraw(userId, CLIENT);
const sidOf = (tokens: Json) => decodeJwt(tokens.id_token).sid;
const toldOf = (tokens: Json): number => receiver.tokens.filter((token) => decodeJwt(token).sid === sidOf(tokens)).length;
const told = (tokens: Json) => until(() => toldOf(tokens) > 0);

/** Returns whether each node accepts the tokens. */
async function aliveAt(tokens: Json, client = CLIENT): Promise<boolean[]> {
  const alive = [];
  for (const node of [service.at(0), service.at(1)]) {
    alive.push(await isActive(node, tokens.access_token, client), await isActive(node, tokens.refresh_token, client));
    alive.push((await userinfo(node, tokens.access_token)).status === 200);
  }
  return alive;
}
const dead = Array.from({ length: 6 }, () => false);
const alive = dead.map(() => true);

describe('F5: the withdrawal of a consent', () => {
  test('ends the tokens and codes of the client in all sessions on every node, and tells the client', async () => {
    const alice = await userOf('alice@acme.test');
    const here = await allowedTokens(service.issuer);
    const there = await allowedTokens(service.issuer);
    const { code } = await allow(service.issuer, { agent: here.agent });
    const { tokens: ofWeb } = await obtainTokens(service.issuer, { agent: here.agent, scope: 'openid offline_access' });
    for (const { tokens } of [here, there]) expect(await aliveAt(tokens)).toEqual(alive);

    const by = { actor: `user:${alice.userId}`, requestId: 'request-1' };
    expect(await idp(1).directory.as(by).consents.withdraw(alice.userId, CLIENT)).toBe(true);
    for (const { tokens } of [here, there]) {
      expect(await aliveAt(tokens)).toEqual(dead);
      expect((await refresh(service.at(0), tokens.refresh_token, CLIENT)).json.error).toBe('invalid_grant');
    }
    expect((await redeem(service.at(0), code)).json.error).toBe('invalid_grant');
    for (const { tokens } of [here, there]) await told(tokens);

    expect(await aliveAt(ofWeb, 'web')).toEqual(alive);
    expect(await silentError(service.issuer, here.agent, 'web')).toBeUndefined();
    expect(await silentError(service.issuer, here.agent, CLIENT)).toMatch(/^(consent|interaction)_required$/);
    expect(toldOf(ofWeb)).toBe(0);
    const listed = await idp().sessions.list(alice);
    expect(listed.flatMap(({ clientIds }) => clientIds)).toEqual(['web']);

    expect(await withdraw(alice.userId)).toBe(false);
    expect(await recordedEvents(shared, 'ConsentWithdrawn')).toEqual([
      expect.objectContaining({ ...by, tid: alice.tid, data: { AggregateId: alice.userId, ClientId: CLIENT } }),
    ]);
    await sleep(50);
    for (const { tokens } of [here, there]) expect(toldOf(tokens)).toBe(1);
  });

  test('has the client ask again; what is allowed then counts, and is told under another `sid`', async () => {
    const bob = await userOf('bob@globex.test');
    const user = { userName: 'bob@globex.test', password: 'bob' };
    const before = await allowedTokens(service.issuer, user);
    await withdraw(bob.userId);
    const { challenge } = createPkce();
    const url = authorizeUrl(service.issuer, {
      client_id: CLIENT,
      scope: 'openid',
      code_challenge: challenge,
      code_challenge_method: 'S256',
    });
    expect(isQuestion(await before.agent.follow(await before.agent.get(url)))).toBe(true);
    const after = await allowedTokens(service.issuer, { ...user, agent: before.agent });
    expect([await aliveAt(before.tokens), await aliveAt(after.tokens)]).toEqual([dead, alive]);
    expect(sidOf(after.tokens)).not.toBe(sidOf(before.tokens));
    await idp().sessions.endAll(bob);
    await told(after.tokens);
  });

  test('ends a refresh token that outlived its session', async () => {
    const carol = await userOf('carol@acme.test');
    const { tokens } = await allowedTokens(service.issuer, { userName: 'carol@acme.test', password: 'carol' });
    passTime(13 * 3600);
    expect([await idp().sessions.list(carol), await isActive(service.issuer, tokens.refresh_token, CLIENT)]).toEqual([[], true]);
    expect((await idp().sessions.clients(carol)).map(({ clientId }) => clientId)).toEqual([CLIENT]);
    await withdraw(carol.userId, 1);
    expect(await isActive(service.issuer, tokens.refresh_token, CLIENT)).toBe(false);
    await told(tokens);
  });

  test('concerns one user: another user of the client goes on', async () => {
    const alice = await userOf('alice@acme.test');
    const own = await allowedTokens(service.issuer);
    const other = await allowedTokens(service.issuer, { userName: 'bob@globex.test', password: 'bob' });
    await withdraw(alice.userId);
    expect([await aliveAt(own.tokens), await aliveAt(other.tokens)]).toEqual([dead, alive]);
  });

  test('L1: is answered after three seconds if the store fails, and a delivery ends the tokens', async () => {
    const alice = await userOf('alice@acme.test');
    const { tokens } = await allowedTokens(service.issuer);
    isListDown = true;
    const began = performance.now();
    expect(await withdraw(alice.userId)).toBe(true);
    expect(performance.now() - began).toBeGreaterThan(2_900);
    isListDown = false;
    await until(async () => !(await isActive(service.issuer, tokens.refresh_token, CLIENT)));
    await told(tokens);
  });
});

describe('F5: sessions.endClient', () => {
  test('ends a client without a consent, and leaves the session and the others', async () => {
    const alice = await userOf('alice@acme.test');
    await idp().sessions.endAll(alice);
    passTime(2);
    const { agent, tokens } = await obtainTokens(service.issuer, { scope: 'openid offline_access' });
    const other = await allowedTokens(service.issuer, { agent });
    expect((await idp().sessions.clients(alice)).map(({ clientId }) => clientId).sort()).toEqual([CLIENT, 'web']);
    const by = { actor: 'client:help-desk' };
    expect(await idp(1).sessions.endClient(alice, 'web', by)).toBe(true);
    expect([await aliveAt(tokens, 'web'), await aliveAt(other.tokens)]).toEqual([dead, alive]);
    await told(tokens);
    expect((await idp().sessions.clients(alice)).map(({ clientId }) => clientId)).toEqual([CLIENT]);
    expect(await idp().sessions.endClient(alice, 'web')).toBe(false);
    expect(await recordedEvents(shared, 'UserSignedOutOfClient')).toEqual([
      expect.objectContaining({ ...by, data: { AggregateId: alice.userId, ClientId: 'web' } }),
    ]);
    // The session of the browser continues, and the client needs no consent.
    expect(await silentError(service.issuer, agent, 'web')).toBeUndefined();
  });

  test('withdraws a consent, with a grant or without', async () => {
    const alice = await userOf('alice@acme.test');
    const { tokens } = await allowedTokens(service.issuer);
    expect(await idp().sessions.endClient(alice, CLIENT)).toBe(true);
    expect([await aliveAt(tokens), await idp().directory.consents.find(alice.userId)]).toEqual([dead, []]);
    await idp().directory.consents.allow(alice.userId, CLIENT, ['openid']);
    expect(await idp(1).sessions.endClient(alice, CLIENT)).toBe(true);
    expect(await idp().directory.consents.find(alice.userId)).toEqual([]);
    expect(await idp().sessions.endClient(alice, CLIENT)).toBe(false);
  });

  test('E1: finds no user of another tenant', async () => {
    const alice = await userOf('alice@acme.test');
    const { tid } = await userOf('bob@globex.test');
    await idp().directory.consents.allow(alice.userId, CLIENT, ['openid']);
    await expect(idp().sessions.endClient({ tid, userId: alice.userId }, CLIENT)).rejects.toMatchObject({ code: 'not_found' });
    await expect(idp().sessions.clients({ tid, userId: alice.userId })).rejects.toMatchObject({ code: 'not_found' });
    expect(await idp().directory.consents.find(alice.userId)).toHaveLength(1);
  });

  test('does not list the pages of the service itself', async () => {
    const carol = await userOf('carol@acme.test');
    await idp().sessions.endAll(carol);
    passTime(2);
    const agent = new Agent();
    const page = await agent.follow(await agent.get(`${service.issuer}/idp/account`));
    const asked = await agent.submit(page, { identifier: 'carol@acme.test' });
    const account = await agent.follow(await agent.submit(asked, { password: 'carol' }));
    expect(account.body).toContain('Your account');
    expect(await idp().sessions.clients(carol)).toEqual([]);
  });
});
