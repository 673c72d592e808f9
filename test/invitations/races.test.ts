/** Threats G9, J1: of any number of acceptances at once one succeeds, whatever the records are kept in. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ArtifactStore, DirectoryStore } from 'tenant-idp';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import { mongoDirectory } from 'tenant-idp/adapters/mongo';
import { redisArtifacts } from 'tenant-idp/adapters/redis';
import { withServer } from '../servers/when.js';
import { invite, invitingSeed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, signIn } from '../support/client/agent.js';
import { type Instances, startInstances } from '../support/service/instances.js';
import { withMongo } from '../support/stores/mongo.js';
import { redisClient } from '../support/stores/redis-clients.js';

const ROUNDS = process.env.PROVE ? 100 : 1;
const AT_ONCE = process.env.PROVE ? 50 : 15;

/** Rounds over two nodes: further winners, who was refused, and whether the winner's password is the user's. */
async function rounds(nodes: Instances): Promise<readonly (readonly unknown[])[]> {
  const found: unknown[][] = [];
  const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
  for (let round = 0; round < ROUNDS; round += 1) {
    const { url, userName } = await invite(nodes.idps[0] as (typeof nodes.idps)[number]);
    const agents = Array.from({ length: AT_ONCE }, () => new Agent());
    const pages = await Promise.all(agents.map((agent) => agent.get(url)));
    const passwordOf = (index: number) => `the password of number ${index}`;
    const answers = await Promise.all(agents.map((agent, index) => agent.submit(pages[index] as Answer, { password: passwordOf(index) })));
    const [winner = -1, ...others] = answers.flatMap(({ status }, index) => (status === 303 ? [index] : []));
    const back = await signIn(new Agent(), authorizeUrl(nodes.issuer, pkce), userName, passwordOf(winner));
    found.push([
      others.length,
      // A store that is busy may answer too late: whoever asked is told to come again, and has accepted nothing.
      answers.filter(({ status }) => status === 410 || status === 503).length,
      back.location?.includes('code=') ?? false,
    ]);
  }
  return found;
}
const expected = Array.from({ length: ROUNDS }, () => [0, AT_ONCE - 1, true]);

interface Stores {
  directory(): DirectoryStore;
  artifacts(): ArtifactStore;
  close?(): unknown;
}

const suite = (open: () => Stores): void => {
  let nodes: Instances;
  let stores: Stores;
  beforeAll(async () => {
    stores = open();
    const options = { seed: invitingSeed as never, limits: { signInFailuresPerAddress: 100_000 } };
    nodes = await startInstances(2, () => ({ directory: stores.directory(), artifacts: stores.artifacts() }), options);
  });
  afterAll(async () => {
    await nodes?.close();
    stores.close?.();
  });
  test(`${AT_ONCE} acceptances of one invitation on two nodes, ${ROUNDS} times: one success each`, async () => {
    expect(await rounds(nodes)).toEqual(expected);
  });
};

withMongo('MONGODB_URL', (mongo) => {
  describe('on MongoDB', () =>
    suite(() => {
      const artifacts = memoryArtifacts();
      return { directory: () => mongoDirectory({ db: mongo.db }), artifacts: () => artifacts };
    }));
  withServer('REDIS_URL', (url) =>
    describe('on Redis and MongoDB', () =>
      suite(() => {
        const prefix = mongo.prefix();
        const clients = [redisClient(url), redisClient(url)];
        const left = [...clients];
        return {
          directory: () => mongoDirectory({ db: mongo.db, prefix }),
          artifacts: () => redisArtifacts({ client: left.pop() as (typeof clients)[number], prefix: `invitations-${process.pid}:` }),
          close: () => clients.map((client) => client.disconnect()),
        };
      })),
  );
});
