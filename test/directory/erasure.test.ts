/**
 * Erasure over every store, with data of every kind: a dump of both stores contains no text of a removed person or tenant. Before the
 * removal, the export has all their data, and no secret.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import { defineCollection, type Extension, Type } from 'tenant-idp/extension';
import type { ArtifactKey, ArtifactStore } from '../../lib/store/artifact-store.js';
import type { DirectoryStore } from '../../lib/store/directory-store.js';
import { withServer } from '../servers/when.js';
import { acceptedIn, invite, invitingSeed, PASSWORD, tenantNamed } from '../support/administration/invitations.js';
import { Agent, authorizeUrl, createPkce, postForm, signIn } from '../support/client/agent.js';
import { callsTo, cibaClient } from '../support/client/ciba/call-centre.js';
import { authorizationOf, isActive, obtainCode, redeem, refresh, userinfo } from '../support/client/steps.js';
import { startIdp, type TestIdp } from '../support/service/idp.js';
import { redirectUri } from '../support/service/seed.js';
import { testTogether } from '../support/service/test-together.js';
import {
  type DumpedStore,
  dumpedMemoryDirectory,
  dumpedMongoArtifacts,
  dumpedMongoDirectory,
  dumpedRedisArtifacts,
} from '../support/stores/dumps.js';
import { until } from '../support/time/until.js';

/** Returns only live artifacts, because the history of the other dumps would contain removed ones. */
function liveMemoryArtifacts(): DumpedStore<ArtifactStore> {
  const memory = memoryArtifacts();
  const keys = new Set<ArtifactKey>();
  const store: ArtifactStore = {
    ...memory,
    commit(writes) {
      for (const { key } of writes) keys.add(key);
      return memory.commit(writes);
    },
  };
  return { store, dump: async () => [...(await memory.read([...keys].map((key) => ({ key })))).values()], end: async () => {} };
}

const notes = defineCollection({
  name: 'diary.notes',
  row: Type.Object({ personId: Type.String(), text: Type.String() }, { additionalProperties: false }),
  indexes: { byPerson: { fields: ['personId'] } },
  async erase(rows, { personId }) {
    for (const { id } of await rows.find('byPerson', [personId])) await rows.remove(id);
  },
  export: async (rows, { personId }) => (await rows.find('byPerson', [personId])).map(({ text }) => ({ text })),
});
let write: (tid: string, row: { personId: string; text: string }) => Promise<unknown> = async () => {};
const diary: Extension = {
  name: 'diary',
  collections: [notes],
  start: ({ records: { collection } }) => {
    write = (tid, row) => collection(notes, tid).insert(row);
  },
};

/** Returns known data of a person; each text is unique. */
const known = (mark: string) => ({
  givenName: `Zebulonia${mark}`,
  familyName: `Quixwater${mark}`,
  email: `zq-first-${mark}@erasure.test`,
  secondEmail: `zq-second-${mark}@erasure.test`,
  phoneNumber: `+47 555 0199 ${mark}`,
  locale: `en-SE-${mark}`,
  nationalId: `31129956789-${mark}`,
  pictureUrl: `https://pictures.test/zq-${mark}.png`,
  externalId: `hr-zq-${mark}`,
  attributes: { shoe: `shoe-of-zq-${mark}` },
});
const textsOf = (mark: string): readonly string[] => [
  ...Object.values(known(mark)).map((value) => (typeof value === 'string' ? value : value.shoe)),
  `zq.login.${mark}@erasure.test`,
  `subject-of-zq-${mark}`,
  `diary-of-zq-${mark}`,
];
/** Returns a message of a client to the person. The message is removed with its request, which is too short-lived for an export. */
const messageOf = (mark: string) => `Pay to zq-${mark}`;

const ping = { backchannel_token_delivery_mode: 'ping', backchannel_client_notification_endpoint: 'https://till.example/pings' };
const seed = {
  ...invitingSeed,
  clients: [...invitingSeed.clients, cibaClient('desk'), cibaClient('kiosk'), cibaClient('till', { metadata: ping })],
};

/** Makes requests to sign in on another device: a redeemed one, an approved one, and a pending one. */
async function beAsked(service: TestIdp, userName: string, mark: string): Promise<readonly string[]> {
  const calls = callsTo(service);
  const asked = { binding_message: messageOf(mark) };
  await calls.poll(await calls.approved({ ...asked, scope: 'openid offline_access' }, 'desk', userName));
  const waiting = await calls.ask({ ...asked, login_hint: userName, client_notification_token: `token-${mark}` }, 'till');
  return [await calls.approved(asked, 'kiosk', userName), waiting.json.auth_req_id];
}

const pkce = createPkce();
const startUrl = (issuer: string, more: Record<string, string> = {}) =>
  authorizeUrl(issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...more });

/** Runs everything that stores data of a person. */
async function live(service: TestIdp, mark: string, tenant: string) {
  const { idp, issuer } = service;
  const userName = `zq.login.${mark}@erasure.test`;
  const user = { userName, externalIdentities: [{ idp: 'eid', subject: `subject-of-zq-${mark}` }] };
  const { person, tid, url } = await invite(idp, { tenant }, { ...known(mark), user });
  const userId = person.user!.id;
  await write(tid, { personId: person.id, text: `diary-of-zq-${mark}` });
  const accepting = new Agent();
  await acceptedIn(url, accepting);
  const agent = new Agent();
  const offline = { scope: 'openid profile email phone offline_access', login_hint: userName };
  const signedIn = await signIn(agent, startUrl(issuer, offline), userName, PASSWORD);
  const code = new URL(signedIn.location ?? '').searchParams.get('code') ?? '';
  const { json: tokens } = await redeem(issuer, { client: 'web', code, verifier: pkce.verifier });
  const { json: renewed } = await refresh(issuer, tokens.refresh_token);
  expect((await userinfo(issuer, renewed.access_token)).json).toMatchObject({ family_name: `Quixwater${mark}` });
  const { json: jwt } = await redeem(issuer, await obtainCode(issuer, agent, 'jwt', { scope: 'openid profile email' }));
  expect(jwt.access_token).toBeDefined();
  await idp.directory.consents.allow(userId, 'third-party', ['openid', 'profile']);
  // Codes and pushed requests that are never used, failed attempts, and a sign-in that stops at its password.
  await obtainCode(issuer, agent, 'spa', { scope: 'openid profile' });
  await postForm(
    `${issuer}/connect/par`,
    {
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: 'openid',
      login_hint: userName,
      code_challenge: pkce.challenge,
      code_challenge_method: 'S256',
    },
    authorizationOf('web'),
  );
  for (const password of ['wrong', 'wrong again']) await signIn(new Agent(), startUrl(issuer), userName, password);
  const stopped = new Agent();
  await stopped.submit(await stopped.follow(await stopped.get(startUrl(issuer, { login_hint: userName }))), { identifier: userName });
  const [approved, waiting] = await beAsked(service, userName, mark);
  return { tid, personId: person.id, userId, agent, tokens: renewed, jwt, approved, waiting };
}

function eraseAll(artifacts: () => DumpedStore<ArtifactStore>, directory: () => DumpedStore<DirectoryStore>): void {
  let stores: [DumpedStore<ArtifactStore>, DumpedStore<DirectoryStore>];
  let service: TestIdp;
  const pieces = async () => (await Promise.all(stores.map((each) => each.dump()))).flat().map((piece) => JSON.stringify(piece));
  /**
   * Returns the dump without unfinished sign-ins, because an application's `login_hint` belongs to no account, and expires within half an
   * hour.
   */
  const dump = async () => (await pieces()).filter((piece) => !/"(?:Interaction|PushedAuthorizationRequest)\{/.test(piece)).join('\n');
  const requestsOf = async (userId: string) =>
    (await pieces()).filter((piece) => piece.includes('ciba.requests{') && piece.includes(userId));
  const foundIn = (text: string, mark: string) => textsOf(mark).filter((one) => text.toLowerCase().includes(one.toLowerCase()));

  beforeAll(async () => {
    stores = [artifacts(), directory()];
    service = await startIdp({
      artifacts: stores[0].store,
      directory: stores[1].store,
      seed: seed as never,
      ciba: {
        notify({ userName }) {
          throw new Error(`no device of ${userName}`);
        },
        email: true,
      },
      extensions: [diary],
      mail: {
        async send({ to }) {
          throw new Error(`550 no such user: ${to}`);
        },
      },
      limits: { signInFailuresPerAddress: 100_000 },
      // No artifact expires before it is erased, even on a slow machine.
      lifetimes: { code: 600, authenticationRequest: 600 },
    });
  });
  afterAll(async () => {
    await service.close();
    for (const each of stores) await each.end();
  });

  test('the export of a person has everything that is known, from every store, and no secret', async () => {
    const { tid, personId, userId } = await live(service, 'exported', 'Acme');
    const told = await service.idp.tenant(tid).persons.export(personId);
    const text = JSON.stringify(told);
    expect(textsOf('exported').filter((one) => !text.includes(one))).toEqual([]);
    expect(told).toMatchObject({ tenant: { name: 'Acme' }, user: { id: userId }, password: { changedAt: expect.any(Date) } });
    expect(told.consents).toMatchObject([{ clientId: 'third-party', scopes: ['openid', 'profile'] }]);
    expect(told.invitations).toMatchObject([{ status: 'accepted' }]);
    expect(told.others['diary.notes']).toEqual([{ text: 'diary-of-zq-exported' }]);
    expect(told.others.sessions?.length).toBeGreaterThanOrEqual(2);
    expect(told.others.grants).toEqual(expect.arrayContaining([expect.objectContaining({ clientId: 'web' })]));
    expect(text).not.toMatch(/passwordHash|\$scrypt|nationalIdHash|v1\.[\w-]{8}\.|pendingEvents|secret/i);
  });

  test('an erased person is in no store: what was sent and queued, sessions, tokens, events and rows of extensions included', async () => {
    const { idp, issuer } = service;
    const { tid, personId, userId, agent, tokens, jwt, approved = '', waiting = '' } = await live(service, 'erased', 'Acme');
    await invite(idp, { tenant: 'Acme', send: true }, { ...known('invited'), user: { userName: 'zq.login.invited@erasure.test' } });
    expect(foundIn(await dump(), 'erased').length).toBeGreaterThan(8);
    expect(await requestsOf(userId)).toHaveLength(3);
    const { items } = await idp.tenant(tid).persons.list({ externalId: 'hr-zq-invited' });
    const told: unknown[] = [];
    idp.events.on('PersonErased', (event) => void told.push(event));
    await idp.tenant(tid).persons.remove(personId);
    await idp.tenant(tid).persons.remove(items[0]!.id);
    expect(await isActive(issuer, tokens.access_token)).toBe(false);
    expect(await isActive(issuer, jwt.access_token, 'jwt')).toBe(false);
    expect((await refresh(issuer, tokens.refresh_token)).status).toBe(400);
    const again = await agent.follow(await agent.get(startUrl(issuer, { prompt: 'none' })));
    expect(again.location).toContain('login_required');
    for (const [client, id] of [
      ['kiosk', approved],
      ['till', waiting],
    ] as const)
      expect((await callsTo(service).poll(id, client)).json.error).toBe('invalid_grant');
    for (const mark of ['erased', 'invited']) {
      await until(async () => foundIn(await dump(), mark).length === 0);
      expect(foundIn(await dump(), mark)).toEqual([]);
    }
    await until(async () => told.length === 2);
    expect(told).toMatchObject([{ subject: personId, tid, data: { AggregateId: personId } }, { subject: items[0]!.id }]);
    expect(foundIn(JSON.stringify(told), 'erased')).toEqual([]);
    // A notice of a sign-in waits for two seconds in the queue, by the id of its user.
    await until(async () => !(await dump()).includes(`"oid":"${userId}"`));
    for (const text of [messageOf('erased'), approved, waiting]) expect([text, (await dump()).includes(text)]).toEqual([text, false]);
    await until(async () => (await requestsOf(userId)).length === 0);
  });

  testTogether('a removed tenant is refused at once on every path, and then in no store', async () => {
    const { idp, issuer } = service;
    const { id: tid } = await idp.directory.tenants.create({ name: 'Vanishing Ltd' });
    const one = await live(service, 'tenant', 'Vanishing Ltd');
    expect(one.tid).toBe(await tenantNamed(idp, 'Vanishing Ltd'));
    await idp.directory.tenants.remove(tid);
    expect(await isActive(issuer, one.tokens.access_token)).toBe(false);
    expect(await isActive(issuer, one.jwt.access_token, 'jwt')).toBe(false);
    expect((await userinfo(issuer, one.tokens.access_token)).status).toBe(401);
    expect((await refresh(issuer, one.tokens.refresh_token)).status).toBe(400);
    expect((await one.agent.follow(await one.agent.get(startUrl(issuer, { prompt: 'none' })))).location).toContain('login_required');
    const refused = await signIn(new Agent(), startUrl(issuer), 'zq.login.tenant@erasure.test', PASSWORD);
    expect(refused.location).toBeUndefined();
    await until(async () => foundIn(await dump(), 'tenant').length === 0 && !(await dump()).includes('Vanishing'));
    expect(foundIn(await dump(), 'tenant')).toEqual([]);
    expect(await dump()).not.toContain('Vanishing');
    await until(async () => (await idp.directory.eventFeed.read({ types: ['TenantRemoved'] })).events.length > 0);
    expect((await idp.directory.eventFeed.read({ types: ['TenantRemoved'] })).events).toMatchObject([
      { subject: tid, data: { AggregateId: tid } },
    ]);
  });
}

describe('in memory', () => eraseAll(liveMemoryArtifacts, dumpedMemoryDirectory));
withServer('REDIS_URL', (url) => describe('in Redis', () => eraseAll(() => dumpedRedisArtifacts(url), dumpedMemoryDirectory)));
withServer('MONGODB_URL', (url) =>
  describe('in MongoDB', () =>
    eraseAll(
      () => dumpedMongoArtifacts(url),
      () => dumpedMongoDirectory(url),
    )),
);
