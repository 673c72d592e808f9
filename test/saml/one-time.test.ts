/** Threat I5 of the security reference, for three nodes over Redis: a one-time reference makes one message, also if it is used concurrently. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { redisArtifacts } from 'tenant-idp/adapters/redis';
import { saml } from 'tenant-idp/extensions/saml';
import { withServer } from '../servers/when.js';
import { Agent, type Answer } from '../support/client/agent.js';
import { testKeyOf } from '../support/saml/keys/test-keys.js';
import { asAdministrator, samlOptions } from '../support/saml/service/administration.js';
import { describeIdp, signedInAt } from '../support/saml/service/use-saml-service.js';
import {
  type Binding,
  startServiceProvider,
  statusCodesOf,
  type TestServiceProvider,
} from '../support/saml/service-providers/node-saml.js';
import { messageIn, travel } from '../support/saml/service-providers/travel.js';
import { type Instances, startInstances } from '../support/service/instances.js';
import { ownPrefix, redisClient } from '../support/stores/redis-clients.js';
import { atOnce, tabOf } from '../support/time/rounds.js';

/** Few rounds in the suite; `npm run prove` runs more. */
const { rounds, uses } = process.env.PROVE ? { rounds: 100, uses: 50 } : { rounds: 2, uses: 12 };

withServer('REDIS_URL', (redis) => {
  const clients = [0, 1, 2].map(() => redisClient(redis));
  const providers: TestServiceProvider[] = [];
  let nodes: Instances;
  beforeAll(async () => {
    const [prefix, directory] = [ownPrefix(), memoryDirectory()];
    const { key, certificate } = await testKeyOf('identity provider');
    const stores = (node: number) => ({
      artifacts: redisArtifacts({ client: clients[node] as (typeof clients)[number], prefix }),
      directory,
    });
    nodes = await startInstances(3, stores, { ...samlOptions, extensions: [saml({ keys: [{ key, certificate }] })] });
  });
  afterAll(async () => {
    for (const provider of providers) await provider.close();
    await nodes?.close();
    for (const client of clients) client.disconnect();
  });

  async function add(binding: Binding): Promise<TestServiceProvider> {
    const provider = await startServiceProvider(await describeIdp(nodes.issuer), { binding });
    providers.push(provider);
    const admin = await asAdministrator(nodes.issuer, 'root');
    expect(await admin.post('/saml-service-providers', provider.registration())).toMatchObject({ status: 201 });
    return provider;
  }

  /** Returns the URL with a one-time reference that the browser is sent to. */
  async function ledTo(path: string, agent: Agent, from: Answer | string): Promise<string> {
    const { location = '' } = await travel(agent, from, (answer) => answer.location?.includes(path) ?? false);
    expect(location).toContain(`${path}?`);
    return location;
  }

  /** Returns the only answer that continues. Each node gets a third of the requests, in turn. */
  async function onlyOne(agent: Agent, location: string): Promise<Answer> {
    const tab = tabOf(agent);
    const answers = await atOnce(uses, () => tab().get(location));
    const over = answers.filter(({ status, body }) => status === 400 && body.includes('This step is over'));
    const [first, ...more] = answers.filter((answer) => !over.includes(answer));
    expect([over.length, more.map(({ status }) => status)]).toEqual([uses - 1, []]);
    expect(await atOnce(3, async () => (await tab().get(location)).status)).toEqual([400, 400, 400]);
    return first as Answer;
  }

  test(`sso/answer × ${uses} × ${rounds}: one Response, for who is signed in and with an error`, async () => {
    const sp = await add('redirect');
    const agent = await signedInAt([sp]);
    for (let round = 0; round < rounds; round += 1) {
      const signedIn = await onlyOne(agent, await ledTo('/idp/saml/sso/answer', agent, sp.loginUrl));
      expect(statusCodesOf(messageIn(signedIn)?.xml ?? '')).toEqual(['Success']);
      expect((await travel(agent, signedIn)).body).toContain('<h1>signed in as');
      const refused = await onlyOne(new Agent(), await ledTo('/idp/saml/sso/answer', agent, sp.loginUrl));
      expect(statusCodesOf(messageIn(refused)?.xml ?? '')).toEqual(['Responder', 'AuthnFailed']);
    }
  });

  test.each(['redirect', 'post'] as const)(`slo/run and slo/done by %s × ${uses} × ${rounds}: one LogoutResponse`, async (binding) => {
    const [sp, other] = [await add(binding), await add(binding)];
    for (let round = 0; round < rounds; round += 1) {
      const agent = await signedInAt([sp, other]);
      const onward = await onlyOne(agent, await ledTo('/idp/saml/slo/run', agent, sp.logoutUrl));
      expect([onward.status, messageIn(onward)]).toEqual([303, undefined]);
      const done = await onlyOne(agent, await ledTo('/idp/saml/slo/done', agent, onward));
      expect(other.sessions.size).toBe(0);
      expect((await travel(agent, done)).body).toContain('<h1>signed out');
    }
    expect(sp.loggedOut).toEqual(Array(rounds).fill(['Success']));
  });

  test(`slo/run × ${uses} × ${rounds} where nobody is signed in: one LogoutResponse`, async () => {
    const sp = await add('redirect');
    for (let round = 0; round < rounds; round += 1) {
      const agent = await signedInAt([sp]);
      const stranger = new Agent();
      const answer = await onlyOne(stranger, await ledTo('/idp/saml/slo/run', agent, sp.logoutUrl));
      await travel(stranger, answer);
    }
    expect(sp.loggedOut).toEqual(Array(rounds).fill(['Success']));
  });
});
