/** Sessions as a service: ended by an administrator, they end everywhere, as if the user had signed out. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { type Agent, authorizeUrl, createPkce, type Json, obtainTokens } from '../support/agent.js';
import { endpointsOf, isActive } from '../support/endpoints.js';
import { type Instances, startInstances } from '../support/instances.js';
import { callLoopback, type LogoutReceiver, startLogoutReceiver } from '../support/logout-receiver.js';
import { testSeed } from '../support/seed.js';

let receiver: LogoutReceiver;
let it: Instances;
beforeAll(async () => {
  receiver = await startLogoutReceiver();
  const [artifacts, directory] = [memoryArtifacts(), memoryDirectory()];
  const clients = testSeed.clients.map((client) => ({
    ...client,
    metadata: { ...client.metadata, ...(client.id === 'web' ? { backchannel_logout_uri: receiver.url } : {}) },
  }));
  const seed = { ...testSeed, clients } as unknown as typeof testSeed;
  it = await startInstances(2, () => ({ artifacts, directory }), { seed, outgoing: callLoopback });
});
afterAll(async () => {
  await it.close();
  receiver.close();
});

const offline = { scope: 'openid offline_access' };
const userOf = async (userName: string) => {
  const [account] = (await it.idps[0]?.directory.accounts.candidates(userName)) ?? [];
  return { tid: account?.tenant.id ?? '', userId: account?.person.user.id ?? '' };
};
const signedIn = (userName: string, parameters: Record<string, unknown> = {}) =>
  obtainTokens(it.issuer, { ...offline, userName, password: userName.split('@')[0] ?? '', ...parameters });
const sessions = (node = 0) => it.idps[node]?.sessions as NonNullable<(typeof it.idps)[number]>['sessions'];
const sidOf = (tokens: Json) => decodeJwt(tokens.id_token).sid;
const isTold = (tokens: Json): boolean => receiver.tokens.some((token) => decodeJwt(token).sid === sidOf(tokens));
/** Waits until the client that got these was told of the end of their session. */
const told = async (tokens: Json) => {
  while (!isTold(tokens)) await sleep(5);
};

async function isSignedIn(agent: Agent, node = ''): Promise<boolean> {
  const challenge = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
  const url = authorizeUrl(it.issuer, { prompt: 'none', ...challenge });
  const { location = '' } = await agent.get(node === '' ? url : url.replace(it.issuer, node));
  return new URL(location).searchParams.has('code');
}

/** What both nodes say of what a sign-in left behind. */
async function aliveAt(agent: Agent, tokens: Json): Promise<boolean[]> {
  const alive = [];
  for (const node of [it.at(0), it.at(1)]) {
    const endpoints = endpointsOf(node);
    alive.push(await isActive(endpoints, tokens.access_token), (await endpoints.userinfo(tokens.access_token)).status === 200);
    alive.push(await isActive(endpoints, tokens.refresh_token), await isSignedIn(agent, node));
  }
  return alive;
}
const dead = Array.from({ length: 8 }, () => false);
const alive = dead.map(() => true);

describe('design 1: idp.sessions', () => {
  test('lists the browsers in which a user is signed in, and what for', async () => {
    const bob = await userOf('bob@globex.test');
    expect(await sessions().list(bob)).toEqual([]);
    const { agent } = await signedIn('bob@globex.test');
    await signedIn('bob@globex.test', { agent, client: 'jwt', secret: 'jwt-secret' });
    await signedIn('bob@globex.test');
    const listed = await sessions(1).list(bob);
    expect(listed.map(({ clientIds }) => [...clientIds].sort()).sort()).toEqual([['jwt', 'web'], ['web']]);
    for (const session of listed) {
      expect(session).toMatchObject({ id: expect.any(String), amr: ['pwd'], idp: 'local' });
      expect(Math.abs(session.signedInAt.getTime() - Date.now())).toBeLessThan(60_000);
      expect(session.expiresAt.getTime()).toBeGreaterThan(Date.now());
    }
    await sessions().endAll(bob);
    expect(await sessions(1).list(bob)).toEqual([]);
  });

  test('F5: ends one on every node with all its tokens, tells its clients, and leaves the others alone', async () => {
    const carol = await userOf('carol@acme.test');
    const one = await signedIn('carol@acme.test');
    const [session] = await sessions().list(carol);
    const other = await signedIn('carol@acme.test');
    expect(await sessions(1).end(carol, session?.id ?? '')).toBe(true);
    expect(await aliveAt(one.agent, one.tokens)).toEqual(dead);
    expect(await aliveAt(other.agent, other.tokens)).toEqual(alive);
    await told(one.tokens);
    expect(isTold(other.tokens)).toBe(false);
    expect(await sessions().end(carol, session?.id ?? '')).toBe(false);
  });

  test('F5: signs out everywhere, also what outlived its session; a later sign-in counts', async () => {
    const bob = await userOf('bob@globex.test');
    const all = [await signedIn('bob@globex.test'), await signedIn('bob@globex.test')];
    await sessions().endAll(bob);
    for (const { agent, tokens } of all) expect(await aliveAt(agent, tokens)).toEqual(dead);
    for (const { tokens } of all) await told(tokens);
    const again = await signedIn('bob@globex.test');
    expect(await aliveAt(again.agent, again.tokens)).toEqual(alive);
  });

  test('E1: a user of another tenant, or none, is not found', async () => {
    const bob = await userOf('bob@globex.test');
    const { tid } = await userOf('alice@acme.test');
    const { agent } = await signedIn('bob@globex.test');
    const [session] = await sessions().list(bob);
    for (const user of [
      { tid, userId: bob.userId },
      { tid: bob.tid, userId: tid },
    ]) {
      await expect(sessions().list(user)).rejects.toMatchObject({ code: 'not_found' });
      await expect(sessions().end(user, session?.id ?? '')).rejects.toMatchObject({ code: 'not_found' });
      await expect(sessions().endAll(user)).rejects.toMatchObject({ code: 'not_found' });
    }
    expect(await sessions().end(await userOf('carol@acme.test'), session?.id ?? '')).toBe(false);
    expect(await isSignedIn(agent)).toBe(true);
  });
});

describe('F5: take hold on every node within two seconds, and tell the clients', () => {
  const deadWithin = async (ms: number, agent: Agent, tokens: Json) => {
    const end = Date.now() + ms;
    let last = await aliveAt(agent, tokens);
    while (last.includes(true) && Date.now() < end) {
      await sleep(50);
      last = await aliveAt(agent, tokens);
    }
    expect(last).toEqual(dead);
  };

  test('F5: disable', async () => {
    const { tid, userId } = await userOf('carol@acme.test');
    const { agent, tokens } = await signedIn('carol@acme.test');
    expect(await aliveAt(agent, tokens)).toEqual(alive);
    await it.idps[0]?.tenant(tid).users.disable(userId);
    await deadWithin(2000, agent, tokens);
    await told(tokens);
    await it.idps[0]?.tenant(tid).users.enable(userId);
    expect(await aliveAt(agent, tokens)).toEqual(dead);
  });

  test('F5: notBefore', async () => {
    const { tid, userId } = await userOf('bob@globex.test');
    const { agent, tokens } = await signedIn('bob@globex.test');
    await it.idps[1]?.tenant(tid).users.signOutEverywhere(userId);
    await deadWithin(2000, agent, tokens);
  });

  test('F5: unlink', async () => {
    const { tid, userId } = await userOf('alice@globex.test');
    const parent = await userOf('alice@acme.test');
    const { agent, tokens } = await signedIn('alice@globex.test');
    const { agent: parents, tokens: parentTokens } = await signedIn('alice@acme.test');
    await it.idps[0]?.tenant(tid).linking.unlink(userId, parent.userId);
    await deadWithin(2000, agent, tokens);
    expect(await aliveAt(parents, parentTokens)).toEqual(alive);
    await told(tokens);
    expect(isTold(parentTokens)).toBe(false);
  });

  test('F5: a tenant that is disabled', async () => {
    const { tid } = await userOf('bob@globex.test');
    const { agent, tokens } = await signedIn('bob@globex.test');
    await it.idps[0]?.directory.tenants.disable(tid);
    await deadWithin(2000, agent, tokens);
    await it.idps[0]?.directory.tenants.enable(tid);
  });
});
