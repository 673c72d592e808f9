/** The service of sessions: a session that an administrator ends is ended everywhere, as if the user had signed out. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { DirectoryStore } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import type { Delivery, Person, PersonWithUser, Tenant } from '../../../lib/store/records/records.js';
import { recordedEvents } from '../../support/administration/recorded-events.js';
import { type Agent, authorizeUrl, createPkce, type Json, obtainTokens } from '../../support/client/agent.js';
import { endpointsOf, isActive } from '../../support/client/endpoints.js';
import { callLoopback, type LogoutReceiver, startLogoutReceiver } from '../../support/client/receivers/logout-receiver.js';
import { type Instances, startInstances } from '../../support/service/instances.js';
import { testSeed } from '../../support/service/seed.js';
import { backToPresent, passTime } from '../../support/time/clock.js';
import { EVERYWHERE } from '../../support/time/in-time.js';

let receiver: LogoutReceiver;
let shared: DirectoryStore;
let service: Instances;

/** Returns a seed in which the client `web` is notified of sign-outs at the receiver. */
function seedOf({ url }: LogoutReceiver) {
  const clients = testSeed.clients.map((client) => ({
    ...client,
    metadata: { ...client.metadata, ...(client.id === 'web' ? { backchannel_logout_uri: url } : {}) },
  }));
  return { ...testSeed, clients } as unknown as typeof testSeed;
}

beforeAll(async () => {
  receiver = await startLogoutReceiver();
  shared = memoryDirectory();
  const artifacts = memoryArtifacts();
  service = await startInstances(2, () => ({ artifacts, directory: shared }), { seed: seedOf(receiver), outgoing: callLoopback });
});
afterEach(backToPresent);
afterAll(async () => {
  await service.close();
  receiver.close();
});

const offline = { scope: 'openid offline_access' };
const userOf = async (userName: string) => {
  const [account] = (await service.idps[0]?.directory.accounts.candidates(userName)) ?? [];
  return { tid: account?.tenant.id ?? '', userId: account?.person.user.id ?? '' };
};
const signedIn = (userName: string, parameters: Record<string, unknown> = {}) =>
  obtainTokens(service.issuer, { ...offline, userName, password: userName.split('@')[0] ?? '', ...parameters });
const sessions = (node = 0) => service.idps[node]?.sessions as NonNullable<(typeof service.idps)[number]>['sessions'];
const sidOf = (tokens: Json) => decodeJwt(tokens.id_token).sid;
const isTold = (tokens: Json): boolean => receiver.tokens.some((token) => decodeJwt(token).sid === sidOf(tokens));
/** Waits until the client of the tokens was notified of the end of their session. */
const told = async (tokens: Json) => {
  while (!isTold(tokens)) await sleep(5);
};

async function isSignedIn(agent: Agent, node = ''): Promise<boolean> {
  const challenge = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
  const url = authorizeUrl(service.issuer, { prompt: 'none', ...challenge });
  const { location = '' } = await agent.get(node === '' ? url : url.replace(service.issuer, node));
  return new URL(location).searchParams.has('code');
}

/** Returns whether each node still accepts the session and the tokens of a sign-in. */
async function aliveAt(agent: Agent, tokens: Json): Promise<boolean[]> {
  const alive = [];
  for (const node of [service.at(0), service.at(1)]) {
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
    const by = { actor: 'client:help-desk', requestId: 'request-1' };
    expect(await sessions(1).end(carol, session?.id ?? '', by)).toBe(true);
    expect(await aliveAt(one.agent, one.tokens)).toEqual(dead);
    expect(await aliveAt(other.agent, other.tokens)).toEqual(alive);
    await told(one.tokens);
    expect(isTold(other.tokens)).toBe(false);
    expect(await sessions().end(carol, session?.id ?? '')).toBe(false);
    const raised = await recordedEvents(shared, 'SessionEnded');
    expect(raised).toEqual([expect.objectContaining({ ...by, data: { AggregateId: carol.userId, SessionId: session?.id } })]);
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
  const deadSoon = async (agent: Agent, tokens: Json) => {
    const end = Date.now() + EVERYWHERE;
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
    await service.idps[0]?.tenant(tid).users.disable(userId);
    await deadSoon(agent, tokens);
    await told(tokens);
    await service.idps[0]?.tenant(tid).users.enable(userId);
    expect(await aliveAt(agent, tokens)).toEqual(dead);
  });

  test('F5: notBefore', async () => {
    const { tid, userId } = await userOf('bob@globex.test');
    const { agent, tokens } = await signedIn('bob@globex.test');
    await service.idps[1]?.tenant(tid).users.signOutEverywhere(userId);
    await deadSoon(agent, tokens);
    await told(tokens);
  });

  test('F5: unlink', async () => {
    const { tid, userId } = await userOf('alice@globex.test');
    const parent = await userOf('alice@acme.test');
    const { agent, tokens } = await signedIn('alice@globex.test');
    const { agent: parents, tokens: parentTokens } = await signedIn('alice@acme.test');
    await service.idps[0]?.tenant(tid).linking.unlink(userId, parent.userId);
    await deadSoon(agent, tokens);
    expect(await aliveAt(parents, parentTokens)).toEqual(alive);
    await told(tokens);
    expect(isTold(parentTokens)).toBe(false);
  });

  test('F5: unlink, of an account that the browser went on from to the one it was linked to', async () => {
    const [idp] = service.idps as [(typeof service.idps)[number]];
    const child = await userOf('alice@globex.test');
    const parent = await userOf('alice@acme.test');
    await idp.tenant(child.tid).linking.link(child.userId, { tid: parent.tid, userId: parent.userId });
    const { agent, tokens } = await signedIn('alice@globex.test');
    const { tokens: after } = await signedIn('alice@acme.test', { agent, prompt: 'login', client: 'jwt', secret: 'jwt-secret' });
    await idp.tenant(child.tid).linking.unlink(child.userId, parent.userId);
    await told(tokens);
    expect(await isActive(endpointsOf(service.issuer), tokens.refresh_token)).toBe(false);
    expect([await isActive(endpointsOf(service.issuer), after.refresh_token, 'jwt'), await isSignedIn(agent)]).toEqual([true, true]);
  });

  test('F5: signing out everywhere is told to who has a refresh token of a session that ended by itself', async () => {
    const bob = await userOf('bob@globex.test');
    const { tokens } = await signedIn('bob@globex.test');
    passTime(13 * 3600);
    expect([await sessions().list(bob), await isActive(endpointsOf(service.issuer), tokens.refresh_token)]).toEqual([[], true]);
    await sessions().endAll(bob);
    expect(await isActive(endpointsOf(service.issuer), tokens.refresh_token)).toBe(false);
    await told(tokens);
  });

  test('F5: a tenant that is disabled', async () => {
    const { tid } = await userOf('bob@globex.test');
    const all = [await signedIn('bob@globex.test'), await signedIn('bob@globex.test')];
    const other = await signedIn('carol@acme.test');
    await service.idps[0]?.directory.tenants.disable(tid);
    for (const { agent, tokens } of all) await deadSoon(agent, tokens);
    for (const { tokens } of all) await told(tokens);
    await service.idps[0]?.directory.tenants.enable(tid);
    for (const { agent, tokens } of all) expect(await aliveAt(agent, tokens)).toEqual(dead);
    expect([await aliveAt(other.agent, other.tokens), isTold(other.tokens)]).toEqual([alive, false]);
  });

  test('F5: a sign-in between two that end all in one second is ended by the second', async () => {
    const { tid, userId } = await userOf('carol@acme.test');
    const [idp] = service.idps as [(typeof service.idps)[number]];
    await sleep(1000 - (Date.now() % 1000));
    await idp.directory.tenants.disable(tid);
    await idp.directory.tenants.enable(tid);
    // Signs in at this node, because the other node may take two seconds to read the tenant's `notBefore`.
    const { agent, tokens } = await service.onlyAt(0, () => signedIn('carol@acme.test'));
    await idp.tenant(tid).users.signOutEverywhere(userId);
    await deadSoon(agent, tokens);
    await told(tokens);
  });

  test('F5: a person who is erased', async () => {
    const { tid, userId } = await userOf('carol@acme.test');
    const { agent, tokens } = await signedIn('carol@acme.test');
    const [{ tenant }] = service.idps as [(typeof service.idps)[number]];
    const { users, persons } = tenant(tid);
    await persons.remove((await users.require(userId)).id);
    await deadSoon(agent, tokens);
    await told(tokens);
  });

  test('F5: an erased parent ends the sign-ins of the children, and they are told of too', async () => {
    const [idp] = service.idps as [(typeof service.idps)[number]];
    const parent = await userOf('alice@acme.test');
    const child = await userOf('alice@globex.test');
    await idp.tenant(child.tid).linking.link(child.userId, { tid: parent.tid, userId: parent.userId });
    const { agent, tokens } = await signedIn('alice@globex.test');
    const { users, persons } = idp.tenant(parent.tid);
    await persons.remove((await users.require(parent.userId)).id);
    await deadSoon(agent, tokens);
    await told(tokens);
  });
});

describe('F8: what the directory made void is told, whatever happens meanwhile', () => {
  test('F8: a store of sessions that is away when it happens: told when it is back, by whichever node', async () => {
    const [artifacts, directory] = [memoryArtifacts(), memoryDirectory()];
    const away = { now: false };
    const sometimes: typeof artifacts = {
      ...artifacts,
      listByAccount: (oid) => (away.now ? Promise.reject(new Error('away')) : artifacts.listByAccount(oid)),
    };
    const nodes = await startInstances(2, () => ({ artifacts: sometimes, directory }), { seed: seedOf(receiver), outgoing: callLoopback });
    const { tokens } = await obtainTokens(nodes.issuer, { userName: 'bob@globex.test', password: 'bob' });
    const [bob] = (await nodes.idps[0]?.directory.accounts.candidates('bob@globex.test')) ?? [];
    away.now = true;
    await nodes.idps[0]?.tenant(bob?.tenant.id ?? '').users.disable(bob?.person.user.id ?? '');
    while (!nodes.logged.flat().some((entry) => (entry as Json).kind === 'void-sign-ins')) await sleep(5);
    expect(isTold(tokens)).toBe(false);
    away.now = false;
    passTime(10);
    await told(tokens);
    await nodes.close();
  });

  test('F8: a node that dies before it could tell anybody: another does', async () => {
    const [artifacts, directory] = [memoryArtifacts(), memoryDirectory()];
    const options = { seed: seedOf(receiver), outgoing: callLoopback };
    const nodes = await startInstances(1, () => ({ artifacts, directory }), options);
    const { tokens } = await obtainTokens(nodes.issuer, { userName: 'bob@globex.test', password: 'bob' });
    const [bob] = (await nodes.idps[0]?.directory.accounts.candidates('bob@globex.test')) ?? [];
    await nodes.close();
    // The node left the notice and the change.
    const store = directory.collection<Delivery>('deliveries');
    const now = new Date();
    const data = { oid: bob?.person.user.id };
    await store.insert({
      id: randomUUID(),
      kind: 'void-sign-ins',
      data,
      state: 'waiting',
      attempts: 0,
      due: now,
      createdAt: now,
      updatedAt: now,
    });
    await directory
      .collection<Person>('persons')
      .update(bob?.person.id ?? '', (row) => ({ ...row, user: { ...(row as PersonWithUser).user, status: 'disabled' } }));
    const others = await startInstances(1, () => ({ artifacts, directory }), options);
    await told(tokens);
    await others.close();
  });

  test('F8: a node that dies before it could tell the others that a tenant is disabled: who ends the sign-ins looks for itself', async () => {
    const directory = memoryDirectory();
    const nodes = await startInstances(1, () => ({ directory }), { seed: seedOf(receiver), outgoing: callLoopback });
    const { tokens } = await obtainTokens(nodes.issuer, { userName: 'bob@globex.test', password: 'bob' });
    const [bob] = (await nodes.idps[0]?.directory.accounts.candidates('bob@globex.test')) ?? [];
    const [tid, now] = [bob?.tenant.id ?? '', new Date()];
    const dates = { due: now, createdAt: now, updatedAt: now };
    await directory
      .collection<Tenant>('tenants')
      .update(tid, (row) => ({ ...row, status: 'disabled', notBefore: new Date(Math.ceil(now.getTime() / 1000) * 1000) }));
    await directory
      .collection<Delivery>('deliveries')
      .insert({ id: randomUUID(), kind: 'void-sign-ins', data: { tid }, state: 'waiting', attempts: 0, ...dates });
    await told(tokens);
    await nodes.close();
  });

  test('F8: a notice of what did not happen ends nothing', async () => {
    const bob = await userOf('bob@globex.test');
    const { agent, tokens } = await signedIn('bob@globex.test');
    const [{ directory }] = service.idps as [(typeof service.idps)[number]];
    for (const data of [{ oid: bob.userId }, { tid: bob.tid }])
      (await directory.deliveries.enqueue([{ kind: 'void-sign-ins', data }])).release();
    while ((await shared.collection('deliveries').find({})).length > 0) await sleep(5);
    expect([await aliveAt(agent, tokens), isTold(tokens)]).toEqual([alive, false]);
  });

  test('F8: a tenant of more people than are taken in one go', async () => {
    const [{ directory, tenant }] = service.idps as [(typeof service.idps)[number]];
    const { id: tid } = await directory.tenants.create({ name: 'Initech' });
    const { persons, credentials } = tenant(tid);
    for (let made = 0; made < 205; made += 1)
      await persons.create({ givenName: 'P', familyName: String(made), user: { userName: `p${made}@initech.test`, status: 'active' } });
    const page = await persons.find({ limit: 200 });
    const last = (await persons.find({ limit: 200, after: page.at(-1)?.id ?? '' })).at(-1);
    await credentials.setPassword(last?.user?.id ?? '', 'a password for the last of them');
    const { agent, tokens } = await signedIn(last?.user?.userName ?? '', { password: 'a password for the last of them' });
    await directory.tenants.disable(tid);
    await told(tokens);
    expect(await aliveAt(agent, tokens)).toEqual(dead);
  });
});
