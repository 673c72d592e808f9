/** B3: replayed refresh tokens, and the effects that a replay has and does not have. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { IdpEvent } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import type { ArtifactStore, ArtifactWrite } from '../../../lib/store/artifact-store.js';
import type { DirectoryStore } from '../../../lib/store/directory-store.js';
import { recordedEvents } from '../../support/administration/recorded-events.js';
import { Agent, authorizeUrl, createPkce, obtainTokens } from '../../support/client/agent.js';
import { isActive, obtainCode, redeem, refresh, responseOf, revoke, userinfo } from '../../support/client/steps.js';
import { startIdp } from '../../support/service/idp.js';
import { type Instances, startInstances } from '../../support/service/instances.js';
import { useIdp } from '../../support/service/use-idp.js';
import { failingStores } from '../../support/stores/failing-stores.js';
import { heldCommits } from '../../support/stores/held-commits.js';
import { startTcpProxy } from '../../support/stores/tcp-proxy.js';
import { backToPresent, passTime } from '../../support/time/clock.js';
import { until } from '../../support/time/until.js';

type Replayed = IdpEvent<'RefreshTokenReplayed'>;
const offline = { scope: 'openid offline_access' };
const invalidGrant = { status: 400, json: { error: 'invalid_grant' } };
const untilHeard = (heard: readonly unknown[], count = 1) => until(() => heard.length >= count);
/** Returns the sorted ids of the recorded replays, dispatched or not. A replay is recorded before its answer. */
const recorded = async (directory: DirectoryStore): Promise<string[]> =>
  (await recordedEvents(directory, 'RefreshTokenReplayed')).map(({ id }) => id).toSorted();

afterEach(() => backToPresent());

describe('B3: one person, two nodes', () => {
  const [artifacts, directory] = [memoryArtifacts(), memoryDirectory()];
  const heard: Replayed[] = [];
  let nodes: Instances;
  beforeAll(async () => {
    nodes = await startInstances(2, () => ({ artifacts, directory }));
    for (const idp of nodes.idps) idp.events.on('RefreshTokenReplayed', (event) => void heard.push(event));
  });
  afterEach(() => void heard.splice(0));
  afterAll(() => nodes.close());

  const family = async (agent = new Agent(), client = 'web') =>
    (await redeem(nodes.issuer, await obtainCode(nodes.issuer, agent, client, offline), {})).json;

  test('a retry within the grace gets the same successor from any node, and raises nothing', async () => {
    const first = await family();
    const answers = await Promise.all([0, 1, 0, 1].map((node) => refresh(nodes.at(node), first.refresh_token)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(new Set(answers.map(({ json }) => json.refresh_token)).size).toBe(1);
    expect(new Set(answers.map(({ json }) => json.access_token)).size).toBe(4);
    for (const { json } of answers) expect(await isActive(nodes.issuer, json.access_token)).toBe(true);
    expect((await refresh(nodes.at(1), answers[0]?.json.refresh_token)).status).toBe(200);
    expect(await recorded(directory)).toEqual([]);
  });

  test.each([
    ['after the grace', 1, 11],
    ['two generations back, within the grace', 2, 0],
    ['three generations back, long after', 3, 3600],
  ])('a replay %s ends the family and is told once, whichever node sees it and however often it comes', async (_name, steps, seconds) => {
    const earlier = await recorded(directory);
    const first = await family();
    let newest = first;
    for (let step = 0; step < steps; step += 1) newest = (await refresh(nodes.at(step % 2), newest.refresh_token)).json;
    const spentBy = Date.now();
    if (seconds > 0) passTime(seconds);
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => refresh(nodes.at(index % 2), first.refresh_token)));
    for (const answer of answers) expect(answer).toMatchObject(invalidGrant);
    for (const token of [first.access_token, newest.access_token, newest.refresh_token])
      expect(await isActive(nodes.issuer, token)).toBe(false);
    expect(await refresh(nodes.issuer, newest.refresh_token)).toMatchObject(invalidGrant);
    expect(await refresh(nodes.issuer, first.refresh_token)).toMatchObject(invalidGrant);

    await untilHeard(heard);
    const [event] = heard as [Replayed];
    expect((await recorded(directory)).filter((id) => !earlier.includes(id))).toEqual([event.id]);
    expect(new Set(heard.map(({ id }) => id)).size).toBe(1);
    const claims = decodeJwt(first.id_token);
    expect(event).toEqual({
      specversion: '1.0',
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      source: nodes.issuer,
      type: 'RefreshTokenReplayed',
      time: expect.any(String),
      subject: claims.sub,
      tid: claims.tid,
      sequence: expect.stringMatching(/^\d{16}$/),
      data: { AggregateId: claims.sub, ClientId: 'web', SessionId: claims.sid, SpentAt: expect.any(String) },
    });
    expect(Date.parse(event.data.SpentAt)).toBeLessThanOrEqual(spentBy);
    expect(Date.parse(event.data.SpentAt)).toBeGreaterThan(spentBy - 10_000);
  });

  test('the event is about the account that was signed in, under the user id that linked accounts do not share', async () => {
    const { tokens: first } = await obtainTokens(nodes.issuer, { ...offline, userName: 'alice@globex.test' });
    const second = (await refresh(nodes.issuer, first.refresh_token)).json;
    await refresh(nodes.issuer, second.refresh_token);
    expect(await refresh(nodes.issuer, first.refresh_token)).toMatchObject(invalidGrant);
    await untilHeard(heard);
    const { oid, sub, tid } = decodeJwt(first.id_token);
    expect(oid).not.toBe(sub);
    expect(heard[0]).toMatchObject({ subject: oid, tid });
  });

  test('a replay ends the grants of its family alone', async () => {
    const agent = new Agent();
    const first = await family(agent);
    const other = await family(agent, 'jwt');
    const elsewhere = await family();
    const { json } = await refresh(nodes.issuer, first.refresh_token);
    passTime(11);
    expect(await refresh(nodes.issuer, first.refresh_token)).toMatchObject(invalidGrant);
    expect(await isActive(nodes.issuer, json.access_token)).toBe(false);
    expect(await isActive(nodes.issuer, other.access_token, 'jwt')).toBe(true);
    expect((await refresh(nodes.issuer, elsewhere.refresh_token)).status).toBe(200);
  });

  test('RFC 6749 §10.4: in the hands of another client it is refused, ends nothing and raises nothing', async () => {
    const earlier = await recorded(directory);
    const first = await family();
    const second = (await refresh(nodes.issuer, first.refresh_token)).json;
    for (const seconds of [0, 11]) {
      passTime(seconds);
      for (const token of [first.refresh_token, second.refresh_token])
        for (const client of ['jwt', 'spa', 'third-party']) expect(await refresh(nodes.issuer, token, client)).toMatchObject(invalidGrant);
    }
    expect(await isActive(nodes.issuer, second.access_token)).toBe(true);
    expect((await refresh(nodes.issuer, second.refresh_token)).status).toBe(200);
    expect(await recorded(directory)).toEqual(earlier);
  });

  test('revoked, expired and unknown tokens are refused and raise nothing', async () => {
    const earlier = await recorded(directory);
    const first = await family();
    const second = (await refresh(nodes.issuer, first.refresh_token)).json;
    await revoke(nodes.issuer, second.refresh_token);
    for (const token of [first.refresh_token, second.refresh_token, `${first.refresh_token.slice(0, -1)}_`])
      expect(await refresh(nodes.issuer, token)).toMatchObject(invalidGrant);
    const old = await family();
    await refresh(nodes.issuer, old.refresh_token);
    passTime(31 * 24 * 3600);
    expect(await refresh(nodes.issuer, old.refresh_token)).toMatchObject(invalidGrant);
    expect(await recorded(directory)).toEqual(earlier);
  });
});

describe('B3: a replay while a store fails', () => {
  test.each(['writes', 'directoryWrites'] as const)('%s: 503, and the next attempt does what is left, told once', async (what) => {
    const { artifacts, directory, down } = failingStores();
    const service = await startIdp({ artifacts, directory });
    const heard: Replayed[] = [];
    service.idp.events.on('RefreshTokenReplayed', (event) => void heard.push(event));
    const first = (await redeem(service.issuer, await obtainCode(service.issuer, new Agent(), 'web', offline))).json;
    const second = (await refresh(service.issuer, first.refresh_token)).json;
    const third = (await refresh(service.issuer, second.refresh_token)).json;
    down[what] = true;
    expect(await refresh(service.issuer, first.refresh_token)).toMatchObject({ status: 503, json: { error: 'temporarily_unavailable' } });
    down[what] = false;
    expect(await refresh(service.issuer, first.refresh_token)).toMatchObject(invalidGrant);
    expect(await isActive(service.issuer, third.access_token)).toBe(false);
    await untilHeard(heard);
    expect(await recorded(directory)).toEqual([heard[0]?.id]);
    await service.close();
  });
});

describe('design §4: a lost answer', () => {
  test('the refresh token of an answer that never came is answered again; nobody is signed out', async () => {
    const [memory, directory] = [memoryArtifacts(), memoryDirectory()];
    let committed = () => {};
    const artifacts: ArtifactStore = {
      ...memory,
      async commit(writes) {
        const result = await memory.commit(writes);
        committed();
        return result;
      },
    };
    const service = await startIdp({ artifacts, directory });
    const { hostname, port } = new URL(service.issuer);
    const network = await startTcpProxy({ host: hostname, port: Number(port) });
    const through = `http://127.0.0.1:${network.port}`;
    const agent = new Agent();
    let { json: tokens } = await redeem(service.issuer, await obtainCode(service.issuer, agent, 'web', offline));
    const seen = new Set([tokens.refresh_token]);
    for (let round = 1; round <= 3; round += 1) {
      network.hang('answers');
      const stored = new Promise<void>((resolve) => {
        committed = resolve;
      });
      const lost = expect(refresh(through, tokens.refresh_token)).rejects.toThrow();
      await stored;
      network.cut();
      await lost;
      await network.pass();
      const retry = await refresh(through, tokens.refresh_token);
      const again = await refresh(through, tokens.refresh_token);
      expect([retry.status, again.status]).toEqual([200, 200]);
      expect(again.json.refresh_token).toBe(retry.json.refresh_token);
      expect(seen.has(retry.json.refresh_token)).toBe(false);
      seen.add(retry.json.refresh_token);
      tokens = retry.json;
    }
    expect((await userinfo(service.issuer, tokens.access_token)).status).toBe(200);
    expect((await refresh(service.issuer, tokens.refresh_token)).status).toBe(200);
    const { challenge } = createPkce();
    const silent = await agent.get(
      authorizeUrl(service.issuer, { prompt: 'none', code_challenge: challenge, code_challenge_method: 'S256' }),
    );
    expect(responseOf(silent).get('code')).not.toBeNull();
    expect(await recorded(directory)).toEqual([]);
    await network.close();
    await service.close();
  });
});

describe('design §4: logout and revocation win over a refresh in flight', () => {
  const { artifacts, holdNext } = heldCommits(memoryArtifacts());
  const service = useIdp({ artifacts });

  const refreshes = (writes: readonly ArtifactWrite[]) => writes.some((write) => write.op === 'put' && write.key.startsWith('AccessToken'));
  const logout = async (agent: Agent) =>
    agent.follow(await agent.submit(await agent.get(`${service.issuer}/connect/endsession`), { logout: 'yes' }));

  const endings = {
    'a logout': (agent: Agent) => logout(agent),
    'a revocation of the refresh token': (_agent: Agent, tokens: { refresh_token: string }) => revoke(service.issuer, tokens.refresh_token),
    'a revocation of the access token': (_agent: Agent, tokens: { access_token: string }) => revoke(service.issuer, tokens.access_token),
  };

  test.each(Object.entries(endings))('%s between its read and its write: it is refused, and nothing is live', async (_name, end) => {
    for (const isRetry of [false, true]) {
      const agent = new Agent();
      const { json: first } = await redeem(service.issuer, await obtainCode(service.issuer, agent, 'web', offline));
      const before = isRetry ? [(await refresh(service.issuer, first.refresh_token)).json] : [];
      const held = holdNext(refreshes);
      const refreshing = refresh(service.issuer, first.refresh_token);
      const goOn = await held;
      await end(agent, first);
      goOn();
      expect(await refreshing).toMatchObject(invalidGrant);
      for (const { access_token: access, refresh_token: token } of [first, ...before]) {
        expect((await userinfo(service.issuer, access)).status).toBe(401);
        expect(await isActive(service.issuer, token)).toBe(false);
        expect(await refresh(service.issuer, token)).toMatchObject(invalidGrant);
      }
    }
  });

  test('two refreshes of one sign-in do not stand in each other’s way', async () => {
    const agent = new Agent();
    const [one, two] = [
      (await redeem(service.issuer, await obtainCode(service.issuer, agent, 'web', offline))).json,
      (await redeem(service.issuer, await obtainCode(service.issuer, agent, 'web', offline))).json,
    ];
    const held = holdNext(refreshes);
    const refreshing = refresh(service.issuer, one.refresh_token);
    const goOn = await held;
    expect((await refresh(service.issuer, two.refresh_token)).status).toBe(200);
    goOn();
    expect((await refreshing).status).toBe(200);
  });
});
