/** Issue 16: one outcome, one redemption and one interval over all nodes. Threats D1, D2. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { MongoClient } from 'mongodb';
import { createIdentityProvider, type IdentityProvider } from 'tenant-idp';
import { mongoArtifacts, mongoDirectory, mongoOptions } from 'tenant-idp/adapters/mongo';
import { redisArtifacts, redisOptions } from 'tenant-idp/adapters/redis';
import { withServer } from '../servers/when.js';
import { postForm } from '../support/client/agent.js';
import { CIBA_GRANT, callsTo, cibaClient } from '../support/client/ciba/call-centre.js';
import { credentialsOf } from '../support/client/endpoints.js';
import { testKeys } from '../support/service/keys.js';
import { type Nodes, startNodes } from '../support/service/nodes.js';
import { testSeed } from '../support/service/seed.js';
import { atOnce } from '../support/time/rounds.js';

/** Number of rounds: few in the suite, and with `npm run prove` as many as the issue requires. */
const rounds = process.env.PROVE ? { redemptions: 200, races: 300, uses: 50 } : { redemptions: 1, races: 4, uses: 20 };

/** Users: one for each four rounds, because a client may ask a user five times in ten minutes. */
const people = Array.from({ length: Math.ceil((rounds.redemptions + rounds.races + 2) / 4) }, (_, index) => `person${index}@acme.test`);
const clients = ['desk', 'kiosk', 'door', 'van'];
const seed = {
  ...testSeed,
  tenants: testSeed.tenants.map((tenant, index) =>
    index > 0
      ? tenant
      : {
          ...tenant,
          persons: [
            ...tenant.persons,
            ...people.map((userName) => ({
              givenName: 'P',
              familyName: userName,
              user: { userName, emailVerified: true, devPassword: 'p' },
            })),
          ],
        },
  ),
  clients: [...testSeed.clients, ...clients.map((id) => cibaClient(id))],
} as never;
const limits = { authenticationRequestsPerMinute: 100_000 };

function outcomesOver(redis: string | undefined, mongo: string): void {
  const space = `ciba-${randomUUID()}`;
  let nodes: Nodes;
  /** One more node, in this process. The users answer here. */
  let here: IdentityProvider;
  let client: MongoClient;
  let cache: Redis | undefined;
  let asked = 0;
  beforeAll(async () => {
    nodes = await startNodes({ artifacts: redis ?? mongo, directory: mongo, space, seed, options: { limits } });
    client = new MongoClient(mongo, { ...mongoOptions });
    const db = client.db(space);
    cache = redis === undefined ? undefined : new Redis(redis, redisOptions);
    here = await createIdentityProvider({
      issuer: nodes.issuer,
      artifacts: cache === undefined ? mongoArtifacts({ db }) : redisArtifacts({ client: cache, prefix: `${space}:` }),
      directory: mongoDirectory({ db }),
      keys: { signing: testKeys, encryption: ['what the nodes of the tests encrypt with'] },
      cookies: { keys: ['what the nodes of the tests sign cookies with'] },
      subjectSalt: 'salt of the test tenant identities',
      limits,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    });
  });
  afterAll(async () => {
    await here?.close();
    await client?.close();
    cache?.disconnect();
    await nodes?.close();
  });

  const calls = () => callsTo({ idp: here, issuer: nodes.issuer });
  /** Starts a request to a user who has not been asked too often. */
  async function request(): Promise<{ readonly who: string; readonly id: string }> {
    const who = people[Math.floor(asked / 4)] ?? '';
    asked += 1;
    const { json } = await calls().ask({ login_hint: who });
    return { who, id: json.auth_req_id };
  }
  const pollAt = (node: number, id: string) =>
    postForm(`${nodes.at(node)}/connect/token`, { grant_type: CIBA_GRANT, auth_req_id: id }, credentialsOf('desk'));

  test(`D1: ${rounds.uses} parallel redemptions of one auth_req_id × ${rounds.redemptions}, over three processes: one success each`, async () => {
    let successes = 0;
    for (let round = 0; round < rounds.redemptions; round += 1) {
      const { who, id } = await request();
      await calls().approve(who);
      const answers = await atOnce(rounds.uses, () => calls().poll(id));
      successes += answers.filter(({ status }) => status === 200).length;
      expect(answers.filter(({ json }) => json.error === 'invalid_grant')).toHaveLength(rounds.uses - 1);
    }
    expect(successes).toBe(rounds.redemptions);
  });

  test('D4: of many requests that come at once to three nodes ten begin, and three wait at most', async () => {
    const carol = 'carol@acme.test';
    const answers = await atOnce(16, async (index) => {
      const client = clients[index % 4] as string;
      const fields = { scope: 'openid', login_hint: carol };
      const { status, json } = await postForm(`${nodes.at(index % 3)}/connect/ciba`, fields, credentialsOf(client));
      return { client, status, json };
    });
    const begun = answers.filter(({ status }) => status === 200);
    expect(begun.length).toBeLessThanOrEqual(10);
    // A store that waits for the processor does not answer in time. The test then does not know whether the request began.
    const unknown = answers.filter(({ status }) => status === 503).length;
    expect(answers.filter(({ status, json }) => ![200, 503].includes(status) && json.error !== 'access_denied')).toEqual([]);
    const waiting = (await here.ciba.pendingOf((await calls().accountOf(carol)).oid)).map(({ clientId }) => clientId);
    // At most three requests of a user are pending.
    expect(waiting.length).toBeLessThanOrEqual(3);
    if (unknown === 0) expect(waiting.length).toBeGreaterThanOrEqual(2);
    const errors = await Promise.all(begun.map(async ({ client, json }) => (await calls().poll(json.auth_req_id, client)).json.error));
    const pending = begun.flatMap(({ client }, index) => (errors[index] === 'authorization_pending' ? [client] : []));
    expect(waiting).toEqual(expect.arrayContaining(pending));
    expect(waiting.length - pending.length).toBeLessThanOrEqual(unknown);
    if (unknown === 0) expect((await calls().ask({ login_hint: carol })).json.error).toBe('access_denied');
  });

  test('D2: ten polls at once over two nodes: slow_down from the second on', async () => {
    const { id } = await request();
    const answers = await atOnce(10, (index) => pollAt(index % 2, id));
    const errors = answers.map(({ json }) => json.error).sort();
    expect(errors).toEqual(['authorization_pending', ...Array(9).fill('slow_down')]);
  });

  test(`approve and deny raced ${rounds.races} times: one outcome, the same for client and person`, async () => {
    for (let round = 0; round < rounds.races; round += 1) {
      const { who, id } = await request();
      const { id: name } = await calls().newestOf(who);
      const decisions = await Promise.all([here.ciba.approve(name, await calls().approverOf(who)), here.ciba.deny(name, 'declined')]);
      expect(decisions.filter(({ outcome }) => outcome === 'decided')).toHaveLength(1);
      const state = (await here.ciba.read(name))?.state;
      const { status, json } = await calls().poll(id);
      expect([state, status === 200 ? 'approved' : json.error]).toEqual(
        state === 'approved' ? ['approved', 'approved'] : ['denied', 'access_denied'],
      );
    }
  });
}

withServer('MONGODB_URL', (mongo) => {
  if (process.env.PROVE) describe('three nodes over MongoDB', () => outcomesOver(undefined, mongo));
  withServer('REDIS_URL', (redis) => describe('three nodes over Redis', () => outcomesOver(redis, mongo)));
});
