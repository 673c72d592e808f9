/**
 * Threats G4, J1: of many concurrent uses of one code on two nodes, one succeeds. The nodes count guesses together, in every store of the
 * records.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ArtifactStore } from 'tenant-idp';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import { mongoDirectory } from 'tenant-idp/adapters/mongo';
import { redisArtifacts } from 'tenant-idp/adapters/redis';
import { withServer } from '../servers/when.js';
import { Agent, type Answer, authorizeUrl, createPkce, signIn, titleOf } from '../support/client/agent.js';
import { type Instances, startInstances } from '../support/service/instances.js';
import { testSeed } from '../support/service/seed.js';
import { codeOf, enrol, postTo, submit } from '../support/sign-in/factors.js';
import { withMongo } from '../support/stores/mongo.js';
import { redisClient } from '../support/stores/redis-clients.js';

const AT_ONCE = 8;
const GUESSING = process.env.PROVE ? 40 : 8;

const [acme, globex] = testSeed.tenants;
const names = ['code', 'recovery', 'guessed', 'elsewhere'];
const persons = names.map((name) => ({
  givenName: name,
  familyName: 'P',
  email: `${name}@acme.test`,
  user: { userName: name, devPassword: name },
}));
const seed = { ...testSeed, tenants: [{ ...acme, persons: [...(acme?.persons ?? []), ...persons] }, globex] };

function suite(
  open: (prefix: string) => { artifacts(): ArtifactStore; close?(): unknown },
  mongo: Parameters<Parameters<typeof withMongo>[1]>[0],
): void {
  let nodes: Instances;
  let stores: ReturnType<typeof open>;
  beforeAll(async () => {
    const prefix = mongo.prefix();
    stores = open(prefix);
    nodes = await startInstances(2, () => ({ directory: mongoDirectory({ db: mongo.db, prefix }), artifacts: stores.artifacts() }), {
      seed: seed as never,
      limits: { signInFailures: 100, signInFailuresPerAccount: 100 },
    });
  });
  afterAll(async () => {
    await nodes?.close();
    stores?.close?.();
  });

  const challenged = async (name: string, count: number) => {
    const url = authorizeUrl(nodes.issuer, { acr_values: 'mfa', code_challenge: createPkce().challenge, code_challenge_method: 'S256' });
    const { secret, codes } = await enrol(new Agent(), url, name, name);
    const agents = Array.from({ length: count }, () => new Agent());
    const pages = await Promise.all(agents.map((agent) => signIn(agent, url, name, name)));
    return { secret, codes, sent: agents.map((agent, index) => ({ agent, page: pages[index] as Answer })) };
  };
  const signedIn = (answers: readonly Answer[]) => answers.filter(({ location }) => location?.includes('code='));

  test(`one code of an app, ${AT_ONCE} times at once: one sign-in`, async () => {
    const { secret, sent } = await challenged('code', AT_ONCE);
    // The code is from the step after the setup, because the tests cannot set the clocks of stores.
    const code = codeOf(secret, 1);
    const answers = await Promise.all(sent.map(({ agent, page }) => submit(agent, page, { code })));
    expect(signedIn(answers)).toHaveLength(1);
  });

  test(`one recovery code, ${AT_ONCE} times at once: one sign-in`, async () => {
    const { codes, sent } = await challenged('recovery', AT_ONCE);
    const answers = await Promise.all(sent.map(({ agent, page }) => postTo(agent, page, '/factors/code', { recovery: codes[0] ?? '' })));
    expect(signedIn(answers)).toHaveLength(1);
  });

  test('NODE-FACTOR: a factor that was set up on one node is asked for in the next sign-in on the other', async () => {
    const url = (more = {}) =>
      authorizeUrl(nodes.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256', ...more });
    const again = () => nodes.onlyAt(1, () => signIn(new Agent(), url(), 'elsewhere', 'elsewhere'));
    expect((await again()).location).toContain('code=');
    await nodes.onlyAt(0, () => enrol(new Agent(), url({ acr_values: 'mfa' }), 'elsewhere', 'elsewhere'));
    expect(titleOf(await again())).toBe('Confirm that it is you');
  });

  test(`${5 * GUESSING} guesses in ${GUESSING} sign-ins at once: ten are looked at`, async () => {
    const { secret, sent } = await challenged('guessed', GUESSING);
    const guesses = sent.flatMap(({ agent, page }) =>
      Array.from({ length: 5 }, (_, guess) => submit(agent, page, { code: codeOf(secret, 9), guess: `${guess}` })),
    );
    const answers = await Promise.all(guesses);
    expect(answers.map(({ status }) => status).filter((status) => status !== 429)).toEqual(Array(10).fill(400));
  });
}

withMongo('MONGODB_URL', (mongo) => {
  describe('on MongoDB', () =>
    suite(() => {
      const artifacts = memoryArtifacts();
      return { artifacts: () => artifacts };
    }, mongo));
  withServer('REDIS_URL', (url) =>
    describe('on Redis and MongoDB', () =>
      suite((prefix) => {
        const clients = [redisClient(url), redisClient(url)];
        const left = [...clients];
        return {
          artifacts: () => redisArtifacts({ client: left.pop() as (typeof clients)[number], prefix: `factors-${process.pid}-${prefix}:` }),
          close: () => clients.map((client) => client.disconnect()),
        };
      }, mongo)),
  );
});
