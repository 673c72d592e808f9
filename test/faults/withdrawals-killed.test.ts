/**
 * Withdrawals of a consent, and sign-outs of a client, by the account page of a node that dies too early, or whose delivery is late.
 * Another node completes them with one event, and the access that the user has given since stays.
 */
import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { ArtifactStore } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import type { Row } from '../../lib/store/directory-store.js';
import { withCollections } from '../store/with-collections.js';
import { recordedEvents } from '../support/administration/recorded-events.js';
import type { Agent, Answer, Json } from '../support/client/agent.js';
import { callLoopback, type LogoutReceiver, startLogoutReceiver } from '../support/client/receivers/logout-receiver.js';
import { isActive } from '../support/client/steps.js';
import { type Instances, startInstances } from '../support/service/instances.js';
import { testSeed } from '../support/service/seed.js';
import { allowedTokens } from '../support/sign-in/consents.js';
import { type CutSubject, cutSubject } from '../support/sign-in/cut-offs.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

const CONSENTED = 'third-party';
const UNASKED = 'web';
const [mortal, survivor] = [0, 1] as const;
const shared = memoryDirectory();
const never = () => new Promise<never>(() => {});

/** Point at which the first node dies. The node does no background work from then on. */
let death: 'before its event' | 'between its event and the removal of the consent' | 'after the removal of the consent' | undefined;
/** Whether deliveries wait, as if all nodes were busy. */
let isHeld = false;
/** Whether the store refuses to remove a delivery when its change is complete. */
let isKept = false;
/** Whether the artifact store lists no records of an account: from the next withdrawal on, or now. */
let lists: 'until a withdrawal' | 'never' | undefined;

const stored = memoryArtifacts();
const artifacts: ArtifactStore = {
  ...stored,
  listByAccount: (account) => (lists === 'never' ? Promise.reject(new Error('away')) : stored.listByAccount(account)),
};

const directoryOf = (node: number) =>
  withCollections(shared, (rows, name) => ({
    find: async (where, page) => (name === 'deliveries' && (isHeld || (node === mortal && death)) ? [] : rows.find(where, page)),
    async insert(row) {
      if (name === 'deliveries' && lists) lists = 'never';
      return node === mortal && name === 'accountEvents' && death === 'before its event' ? never() : rows.insert(row);
    },
    async remove(id, version) {
      if (name === 'deliveries' && isKept) throw new Error('away');
      if (node !== mortal || name !== 'consents' || !death) return rows.remove(id, version);
      if (death === 'after the removal of the consent') await rows.remove(id, version);
      return never();
    },
  }));

let receiver: LogoutReceiver;
let service: Instances;
beforeAll(async () => {
  receiver = await startLogoutReceiver();
  const clients = testSeed.clients.map((client) => ({
    ...client,
    metadata: { ...client.metadata, backchannel_logout_uri: receiver.url },
  }));
  service = await startInstances(2, (node) => ({ artifacts, directory: directoryOf(node) }), {
    seed: { ...testSeed, clients } as unknown as typeof testSeed,
    outgoing: callLoopback,
    limits: { signInFailuresPerAddress: 100_000 },
  });
});
afterEach(async () => {
  [death, isHeld, isKept, lists] = [undefined, false, false, undefined];
  await until(isDelivered);
  backToPresent();
});
afterAll(async () => {
  await service.close();
  receiver.close();
});

const isDelivered = async (): Promise<boolean> =>
  (await shared.collection<Row & { readonly kind: string }>('deliveries').find({ byState: ['waiting'] })).every(
    ({ kind }) => kind !== 'void-sign-ins',
  );
const at = (path = '') => `${service.issuer}/idp/account/applications${path}`;
const idp = () => service.idps[survivor] as Instances['idps'][number];

interface Access {
  readonly subject: CutSubject;
  readonly agent: Agent;
  readonly tokens: Json;
  readonly client: string;
}
async function given(client: string, subject?: CutSubject, agent?: Agent): Promise<Access> {
  const user = subject ?? (await cutSubject(idp(), 'own'));
  const allowing = { client, userName: user.userName, password: 'old', scope: 'openid offline_access', ...(agent && { agent }) };
  const signedIn = await service.onlyAt(survivor, () => allowedTokens(service.issuer, allowing));
  return { subject: user, client, ...signedIn };
}
const isAlive = ({ tokens, client }: Access): Promise<boolean> => isActive(service.at(survivor), tokens.refresh_token, client);
const consentsOf = ({ subject }: Access) => idp().directory.consents.find(subject.oid);
const eventsOf = async (type: string, { subject }: Access) =>
  (await recordedEvents(shared, type)).filter(({ data }) => (data as { readonly AggregateId?: string }).AggregateId === subject.oid);

/** Presses the button on the page of the application. A killed node never answers. */
async function press(node: number, { agent, client }: Access): Promise<() => Promise<Answer>> {
  const name = createHash('sha256').update(client).digest('base64url');
  const page = await service.onlyAt(node, async () => agent.follow(await agent.get(at(`/${name}`))));
  return () => service.onlyAt(node, () => agent.submit(page, { end: name }));
}
const end = async (node: number, access: Access): Promise<void> => {
  const answer = await (await press(node, access))();
  expect([answer.status, answer.location]).toEqual([303, expect.stringContaining('?done=')]);
};

describe.each([
  { client: CONSENTED, type: 'ConsentWithdrawn', at: 'before its event' },
  { client: CONSENTED, type: 'ConsentWithdrawn', at: 'between its event and the removal of the consent' },
  { client: CONSENTED, type: 'ConsentWithdrawn', at: 'after the removal of the consent' },
  { client: UNASKED, type: 'UserSignedOutOfClient', at: 'before its event' },
] as const)('B1, F5: the end of the access of $client, whose node dies $at', ({ client, type, at: point }) => {
  test('is completed by another node, with one event that names the user', async () => {
    const access = await given(client);
    const post = await press(mortal, access);
    death = point;
    void post().catch(() => undefined);
    await until(async () => !(await isAlive(access)));
    await until(isDelivered);
    expect(await consentsOf(access)).toEqual([]);
    await until(() => receiver.tokens.some((token) => sidOf(token) === sidOf(access.tokens.id_token)));
    expect(await eventsOf(type, access)).toEqual([
      expect.objectContaining({ actor: `user:${access.subject.oid}`, data: { AggregateId: access.subject.oid, ClientId: client } }),
    ]);
  });
});

describe('F5: the access that a user gives after a withdrawal', () => {
  test('stays if the first withdrawal is completed later: tokens, consent and the `sid` of the client', async () => {
    const first = await given(CONSENTED);
    const post = await press(mortal, first);
    [death, isHeld] = ['between its event and the removal of the consent', true];
    void post().catch(() => undefined);
    await until(async () => (await eventsOf('ConsentWithdrawn', first)).length === 1);
    await end(survivor, first);
    const second = await given(CONSENTED, first.subject, first.agent);
    isHeld = false;
    await until(isDelivered);
    expect([await isAlive(first), await isAlive(second)]).toEqual([false, true]);
    expect(await consentsOf(second)).toHaveLength(1);
    expect(await eventsOf('ConsentWithdrawn', first)).toHaveLength(1);
  });

  test.each([
    ['at the same time', 0],
    ['by a node whose clock is 12 s behind', -12],
    ['by a node whose clock is 12 s ahead', 12],
  ])('stays if the withdrawal is delivered once more, and the access is given %s', async (_, seconds) => {
    const first = await given(CONSENTED);
    [isHeld, isKept] = [true, true];
    await end(mortal, first);
    isKept = false;
    passTime(seconds);
    const second = await given(CONSENTED, first.subject);
    backToPresent();
    expect([await isDelivered(), await isAlive(second)]).toEqual([false, true]);
    isHeld = false;
    await until(isDelivered);
    expect([await isAlive(first), await isAlive(second)]).toEqual([false, true]);
    expect([(await consentsOf(second)).length, (await eventsOf('ConsentWithdrawn', first)).length]).toEqual([1, 1]);
  });

  test('stays if the store could end nothing at the withdrawal, and the client is told of the former sign-in alone', async () => {
    const first = await given(CONSENTED);
    [isHeld, lists] = [true, 'until a withdrawal'];
    await end(mortal, first);
    lists = undefined;
    expect(await isAlive(first)).toBe(true);
    const second = await given(CONSENTED, first.subject, first.agent);
    const told = receiver.tokens.length;
    isHeld = false;
    await until(isDelivered);
    expect([await isAlive(first), await isAlive(second)]).toEqual([false, true]);
    await until(() => receiver.tokens.length > told);
    const sids = [first, second].map(({ tokens }) => sidOf(tokens.id_token));
    expect(receiver.tokens.slice(told).map(sidOf)).toEqual([sids[0]]);
    expect(sids[1]).not.toBe(sids[0]);
  });

  test('stays without a consent too, seconds after the sign-out there', async () => {
    const first = await given(UNASKED);
    [isHeld, isKept] = [true, true];
    await end(mortal, first);
    isKept = false;
    passTime(4);
    const second = await given(UNASKED, first.subject);
    backToPresent();
    isHeld = false;
    await until(isDelivered);
    expect([await isAlive(first), await isAlive(second)]).toEqual([false, true]);
    expect(await eventsOf('UserSignedOutOfClient', first)).toHaveLength(1);
  });
});

const sidOf = (jwt: string): unknown => decodeJwt(jwt).sid;
