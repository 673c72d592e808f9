/** Threats G9, J1: one of the concurrent acceptances succeeds, in every kind of store. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ArtifactStore, DirectoryStore, IdentityProvider } from 'tenant-idp';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import { mongoDirectory } from 'tenant-idp/adapters/mongo';
import { redisArtifacts } from 'tenant-idp/adapters/redis';
import { withServer } from '../servers/when.js';
import { invite, invitingSeed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, signIn } from '../support/client/agent.js';
import { type Instances, startInstances } from '../support/service/instances.js';
import { withMongo } from '../support/stores/mongo.js';
import { redisClient } from '../support/stores/redis-clients.js';
import { until } from '../support/time/until.js';

const ROUNDS = process.env.PROVE ? 100 : 1;
const AT_ONCE = process.env.PROVE ? 50 : 15;

const passwordOf = (index: number) => `the password of number ${index}`;
const accept = async (agent: Agent, page: Answer, index: number) => (await agent.submit(page, { password: passwordOf(index) })).status;

/**
 * Runs rounds over two nodes. Returns how many acceptances won, how many were answered with 303, 410 or 503, and whether the winner's
 * password is the user's.
 */
async function rounds(nodes: Instances): Promise<readonly (readonly unknown[])[]> {
  const found: unknown[][] = [];
  const [idp] = nodes.idps as [IdentityProvider, ...IdentityProvider[]];
  const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };
  for (let round = 0; round < ROUNDS; round += 1) {
    const { url, userName } = await invite(idp);
    const agents = Array.from({ length: AT_ONCE }, () => new Agent());
    const pages = await Promise.all(agents.map((agent) => agent.get(url)));
    const statuses = await Promise.all(agents.map((agent, index) => accept(agent, pages[index] as Answer, index)));
    const told = (wanted: number) => statuses.flatMap((status, index) => (status === wanted ? [index] : []));
    const winners = told(303).length > 0 ? told(303) : await untoldWinners(idp, { url, userName, asked: told(503) });
    const back = await signIn(new Agent(), authorizeUrl(nodes.issuer, pkce), userName, passwordOf(winners[0] ?? -1));
    found.push([winners.length, [303, 410, 503].flatMap(told).length, back.location?.includes('code=') ?? false]);
  }
  return found;
}

interface Round {
  readonly url: string;
  readonly userName: string;
  /** Acceptances that were answered with a request to retry. */
  readonly asked: readonly number[];
}

/**
 * Returns the winners of a round without a success answer, because a busy store answered too late. Either an acceptance that was asked to
 * retry has succeeded, or the invitation can still be accepted.
 */
async function untoldWinners({ directory }: IdentityProvider, { url, userName, asked }: Round): Promise<readonly number[]> {
  const late = new Agent();
  const page = await late.get(url);
  if (page.status === 200) return (await accept(late, page, AT_ONCE)) === 303 ? [AT_ONCE] : [];
  const candidates = await directory.accounts.candidates(userName);
  const isOf = async (index: number) => (await directory.credentials.checkPassword(candidates, passwordOf(index))).length === 1;
  return until(
    async () => {
      const winners: number[] = [];
      for (const index of asked) if (await isOf(index)) winners.push(index);
      return winners;
    },
    ({ length }) => length > 0,
  );
}

const expected = Array.from({ length: ROUNDS }, () => [1, AT_ONCE, true]);

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
