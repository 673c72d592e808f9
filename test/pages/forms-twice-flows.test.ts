/** B23: forms that users and browsers send twice, and the changes that each evaluation would make. */
import { createHash } from 'node:crypto';
import { type EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { mongoArtifacts } from 'tenant-idp/adapters/mongo';
import { redisArtifacts } from 'tenant-idp/adapters/redis';
import { type Extension, form, formField } from 'tenant-idp/extension';
import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import { withServer } from '../servers/when.js';
import { captureMail, invite, invitingSeed, personalTenant, tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, signIn, titleOf } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { startIdp, type TestIdp } from '../support/service/idp.js';
import { useIdp } from '../support/service/use-idp.js';
import { enrol } from '../support/sign-in/factors.js';
import { mailTo, passwordPage, pressForgotten } from '../support/sign-in/passwords.js';
import { withMongo } from '../support/stores/mongo.js';
import { ownPrefix, redisClient } from '../support/stores/redis-clients.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

const ask = (issuer: string, parameters: Record<string, string> = {}): string =>
  authorizeUrl(issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256', ...parameters });
const seen = ({ status, location, body }: Answer) => [status, location, createHash('sha256').update(body).digest('hex')];

/** Sends the form of a page twice. */
type Twice = (agent: Agent, page: Answer, fields: Record<string, string>) => Promise<readonly [Answer, Answer]>;
const ways: readonly (readonly [string, Twice])[] = [
  ['at once', async (agent, page, fields) => Promise.all([agent.submit(page, fields), agent.submit(page, fields)])],
  ['one after the other', async (agent, page, fields) => [await agent.submit(page, fields), await agent.submit(page, fields)]],
];

describe.each(ways)('B23: a form that is sent twice, %s', (way, twice) => {
  const captured = captureMail();
  const withoutMail = useIdp({ seed: invitingSeed as never, personalTenant });
  const service = useIdp({ seed: invitingSeed as never, mail: captured.mail, personalTenant });
  beforeAll(async () => {
    for (const { idp } of [withoutMail, service]) {
      const tid = await tenantNamed(idp, 'Acme');
      await idp.directory.tenants.update(tid, { signIn: { selfRegistration: true } });
    }
  });
  const same = ([one, two]: readonly [Answer, Answer]): Answer => {
    expect(seen(two)).toEqual(seen(one));
    return two;
  };
  const newcomer = { givenName: 'Nina', familyName: 'New', email: `nina@new-${way.length}.test`, password: 'long enough for anybody' };
  const create = async ({ idp, issuer }: Pick<TestIdp, 'idp' | 'issuer'>, agent: Agent): Promise<Answer> =>
    agent.follow(await agent.get(ask(issuer, { prompt: 'create', acr_values: `tenant:${await tenantNamed(idp, 'Acme')}` })));

  test('“Create account” makes one account, and the second answer signs in to it', async () => {
    const agent = new Agent();
    const answer = same(await twice(agent, await create(withoutMail, agent), newcomer));
    expect(membersOf(await agent.follow(answer))).toHaveProperty('code');
  });

  test('“Create account” with mail sends one mail', async () => {
    const agent = new Agent();
    same(await twice(agent, await create(service, agent), newcomer));
    await mailTo(captured, newcomer.email, 'registration');
    expect(captured.mails.filter(({ to }) => to === newcomer.email)).toHaveLength(1);
  });

  test('a wrong password counts once; another guess is evaluated', async () => {
    const agent = new Agent();
    const page = await passwordPage(service.issuer, agent, 'alice@acme.test');
    expect(same(await twice(agent, page, { password: 'wrong' })).status).toBe(400);
    // Ten guesses are evaluated before the limit: the guess of this form, and nine others.
    const statuses = [];
    for (let guess = 0; guess < 10; guess += 1) statuses.push((await agent.submit(page, { password: `guess ${guess}` })).status);
    expect(statuses).toEqual([...Array<number>(9).fill(400), 429]);
    expect(same(await twice(agent, page, { password: 'guess 3' })).status).toBe(429);
  });

  test('“Forgotten password?” sends one link, and again later', async () => {
    const agent = new Agent();
    const page = await pressForgotten(agent, await passwordPage(service.issuer, agent, 'bob@globex.test'));
    const before = captured.mails.length;
    const fields = { identifier: 'bob@globex.test' };
    same(await twice(agent, page, fields));
    await until(() => captured.mails.length > before);
    try {
      passTime(61);
      await agent.submit(page, fields);
      await until(() => captured.mails.length > before + 1);
    } finally {
      backToPresent();
    }
    expect(captured.mails.length).toBe(before + 2);
  });

  test('an invitation is accepted once', async () => {
    const { url } = await invite(service.idp);
    const agent = new Agent();
    const answer = same(await twice(agent, await agent.get(url), { password: 'long enough for anybody' }));
    expect(answer.status).toBe(303);
  });

  test('a sign-out ends at the same page', async () => {
    const agent = new Agent();
    await signIn(agent, ask(service.issuer), 'dave@acme.test', 'dave').catch(() => undefined);
    const signedIn = await signIn(agent, ask(withoutMail.issuer), 'bob@globex.test', 'bob');
    expect(membersOf(signedIn)).toHaveProperty('code');
    const page = await agent.get(`${withoutMail.issuer}/connect/endsession`);
    const answer = same(await twice(agent, page, { logout: 'yes' }));
    expect([answer.status, titleOf(await agent.follow(answer))]).toEqual([303, 'You are signed out']);
  });
});

describe('the answer to a form', () => {
  const service = useIdp({ seed: invitingSeed as never });

  test('is given while the browser is signed in as it was, and not after a sign-out', async () => {
    const agent = new Agent();
    await enrol(agent, ask(service.issuer, { acr_values: 'mfa' }), 'bob@globex.test', 'bob');
    const page = await agent.follow(await agent.get(`${service.issuer}/idp/factors`));
    const action = { action: 'codes' };
    const shown = await agent.submit(page, action);
    expect(seen(await agent.submit(page, action))).toEqual(seen(shown));
    await agent.follow(await agent.submit(await agent.get(`${service.issuer}/connect/endsession`), { logout: 'yes' }));
    const later = await agent.submit(page, action);
    expect(later.body).not.toBe(shown.body);
    expect(later.status).toBe(303);
  });

  test('PG: a form of a sign-in that was completed goes on to the application', async () => {
    const agent = new Agent();
    const page = await passwordPage(service.issuer, agent, 'alice@acme.test');
    const done = await agent.follow(await agent.submit(page, { password: 'alice' }));
    expect(membersOf(done)).toHaveProperty('code');
    // The browser has the session now, and sends the form again.
    const again = await agent.follow(await agent.submit(page, { password: 'alice' }));
    expect(membersOf(again)).toHaveProperty('code');
    expect(membersOf(again).code).not.toBe(membersOf(done).code);
  });
});

/** @param artifacts returns the shared store for one of the nodes. */
const twoNodes = (name: string, artifacts: () => ArtifactStore | Promise<ArtifactStore>, isOfThisProcess = false): void =>
  describe(`two nodes over one store, ${name}`, () => {
    /** Evaluations by the nodes, and the promise for which an evaluation waits. */
    const evaluated: string[] = [];
    let hold: Promise<void> = Promise.resolve();
    let fails = false;
    /** Delays all evaluations from now on. @returns a function that lets them continue */
    function holdUp(): () => void {
      let release = (): void => undefined;
      hold = new Promise((resolve) => {
        release = resolve;
      });
      return release;
    }
    const slow = (node: string): Extension => ({
      name: 'slow',
      routes(router, { http: { csrf }, service: { url } }) {
        router.get('/slow', (ctx) => {
          ctx.type = 'html';
          ctx.body = `<form method="post" action="${url('/slow')}"><input name="csrf" value="${csrf.token(ctx, 'slow')}"></form>`;
        });
        router.postWithoutCsrf('/slow', form, async (ctx) => {
          evaluated.push(node);
          await hold;
          if (fails) throw new Error('this node fails');
          ctx.body = `done by ${node} ${csrf.check(ctx, 'slow', formField(ctx, 'csrf', 200))}`;
        });
      },
    });
    const nodes: TestIdp[] = [];
    beforeAll(async () => {
      const directory = memoryDirectory();
      const secrets = { encryption: ['what both nodes encrypt with, and no one else'] };
      for (const node of ['one', 'two'])
        nodes.push(
          await startIdp({
            directory,
            artifacts: await artifacts(),
            keys: secrets,
            cookies: { keys: ['what both nodes sign their cookies with'] },
            extensions: [slow(node)],
          }),
        );
    });
    afterAll(async () => {
      for (const node of nodes) await node.close();
    });
    const shownBy = async (agent: Agent): Promise<{ post: (node: 0 | 1) => Promise<Answer> }> => {
      const { fields } = formOf(await agent.get(`${nodes[0]?.issuer}/slow`));
      evaluated.length = 0;
      return { post: (node) => agent.post(`${nodes[node]?.issuer}/slow`, fields) };
    };

    test('the second waits for the first, on the other node', async () => {
      const agent = new Agent();
      const { post } = await shownBy(agent);
      const release = holdUp();
      const first = post(0);
      await until(() => evaluated.length > 0);
      const second = post(1);
      release();
      expect((await first).body).toBe('done by one true');
      expect((await second).body).toBe('done by one true');
      expect(evaluated).toEqual(['one']);
    });

    test('after a failure of the service, the next is evaluated', async () => {
      const agent = new Agent();
      const { post } = await shownBy(agent);
      hold = Promise.resolve();
      fails = true;
      const failed = await post(0);
      fails = false;
      expect(failed.status).toBe(500);
      expect([(await post(1)).body, evaluated]).toEqual(['done by two true', ['one', 'two']]);
    });

    (isOfThisProcess ? test : test.skip)(
      'when the first never ends, a page says so, and the form can be sent again after that',
      async () => {
        const agent = new Agent();
        const { post } = await shownBy(agent);
        const release = holdUp();
        const first = post(0);
        await until(() => evaluated.length > 0);
        try {
          const arrived = once(nodes[1]?.server as EventEmitter, 'request');
          const second = post(1);
          await arrived;
          // The second request waits now, or is about to wait.
          await sleep(1_000);
          passTime(11);
          const told = await second;
          expect([told.status, titleOf(told)]).toEqual([503, 'We are still working on it']);
          hold = Promise.resolve();
          passTime(21);
          expect((await post(1)).body).toBe('done by two true');
        } finally {
          backToPresent();
          release();
          await first;
        }
      },
    );

    test('E-A: the other node gives a browser the session again whose cookie it lost', async () => {
      const agent = new Agent();
      const [one = '', two = ''] = nodes.map(({ issuer }) => issuer);
      const page = await passwordPage(one, agent, 'alice@acme.test');
      const { action, fields } = formOf(page);
      const sent = { ...fields, password: 'alice' };
      const first = await agent.post(action, sent);
      const before = new Map(agent.cookies);
      await agent.get(first.location as string);
      agent.cookies.clear();
      for (const [key, cookie] of before) agent.cookies.set(key, cookie);
      const again = await agent.follow(await agent.post(action.replace(one, two), sent));
      expect(membersOf(again)).toHaveProperty('code');
      expect(membersOf(await agent.follow(await agent.get(ask(one, { prompt: 'none' }))))).toHaveProperty('code');
    });

    test('in another browser, the same fields are another form', async () => {
      const { post } = await shownBy(new Agent());
      hold = Promise.resolve();
      await post(0);
      const other = new Agent();
      await other.get(`${nodes[0]?.issuer}/slow`);
      expect(evaluated).toEqual(['one']);
      expect(other.cookies.size).toBeGreaterThan(0);
    });
  });

const inMemory = memoryArtifacts();
// A store in this process uses the clock of the process.
twoNodes('memory', () => inMemory, true);
withServer('REDIS_URL', (url) => {
  const clients: Redis[] = [];
  const prefix = ownPrefix();
  twoNodes('Redis', () => {
    const client = redisClient(url);
    clients.push(client);
    return redisArtifacts({ client, prefix });
  });
  afterAll(() => {
    for (const client of clients) client.disconnect();
  });
});
withMongo('MONGODB_URL', (mongo) => {
  const prefix = mongo.prefix();
  twoNodes('MongoDB', async () => mongoArtifacts({ db: await mongo.connect(), prefix }));
});
