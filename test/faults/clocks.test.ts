/**
 * L6: nodes whose clocks differ. Users notice no difference of up to half a minute. Beyond it a node refuses to serve, and ends nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { withServer } from '../servers/when.js';
import { adminClient, administer, adminToken, tenantIds } from '../support/administration/admin.js';
import { Agent, type Answer, authorizeUrl, createPkce, type Json, obtainTokens, postForm } from '../support/client/agent.js';
import { type AssertingClient, createAssertingClient } from '../support/client/assertions.js';
import { authorizationOf, isActive, obtainCode, redeem, refresh, responseOf, revoke, userinfo } from '../support/client/steps.js';
import { type Nodes, type NodesOptions, startNodes } from '../support/service/nodes.js';
import { redirectUri, testSeed } from '../support/service/seed.js';
import { epochSeconds } from '../support/time/epoch-seconds.js';
import { holdsUntil } from '../support/time/holds-until.js';
import { until } from '../support/time/until.js';

const offline = { scope: 'openid profile offline_access' };
const invalidGrant = { status: 400, json: { error: 'invalid_grant' } };
const away = { status: 503, json: { error: 'temporarily_unavailable' } };
const SECOND = 1000;

type Stores = Pick<NodesOptions, 'artifacts' | 'directory'>;

const indexes = [0, 1, 2];
const every = indexes.flatMap((one) => indexes.map((other) => [one, other] as const));
/** Pairs of nodes: all pairs, or enough that each node comes first and second, and that the nodes with the largest difference meet. */
const pairs = process.env.PROVE ? every : every.filter(([one, other]) => (one + 1) % 3 === other || (one === 0 && other === 2));
/**
 * Client whose refresh token grace ends during the tests. The other clients have the longest grace, because a busy machine retries late.
 */
const shortOfGrace = {
  ...testSeed.clients.find(({ id }) => id === 'web'),
  id: 'short',
  secret: 'short-secret',
  lifetimes: { refreshTokenGrace: 3 },
};
/** Milliseconds after which the grace of `short` has ended, with a margin for the difference of the clocks. */
const PAST_GRACE = 5 * SECOND;

/** A browser whose requests all come to one node. */
class AgentOfNode extends Agent {
  constructor(
    readonly nodes: Nodes,
    readonly index: number,
  ) {
    super();
  }

  override async request(url: string, sending?: Parameters<Agent['request']>[1]): Promise<Answer> {
    const { issuer } = this.nodes;
    const at = this.nodes.at(this.index);
    const answer = await super.request(url.replace(issuer, at), sending);
    return { ...answer, url, location: answer.location?.replace(at, issuer) };
  }
}

/**
 * @param isRefusalTried whether clocks are also set so far off that nodes refuse to serve. The store makes no difference to that refusal.
 */
function clocksOver(stores: Stores, isRefusalTried: boolean): void {
  let nodes: Nodes;
  let asserting: AssertingClient;
  beforeAll(async () => {
    asserting = await createAssertingClient('asserts');
    const seed = {
      ...testSeed,
      clients: [...testSeed.clients, asserting.seed, adminClient('root', ['*']), shortOfGrace],
    } as unknown as NodesOptions['seed'];
    const options = { lifetimes: { refreshTokenGrace: 60 } };
    nodes = await startNodes({ ...stores, seed, options, clocks: [12 * SECOND, 0, -12 * SECOND] });
  });
  afterAll(() => nodes?.close());

  describe('12 s ahead, as the machine, and 12 s behind', () => {
    const signedIn = new Agent();
    /** Families whose first token was spent before the other tests, which take as long as the grace. */
    let families: readonly { one: number; other: number; first: Json; second: Json }[];
    let spentAt: number;
    /** Token request with an assertion that the node ahead accepted. The assertion expires while the other tests run. */
    let assertion: Record<string, string>;
    beforeAll(async () => {
      await obtainCode(nodes.issuer, signedIn);
      families = await Promise.all(
        pairs.map(async ([one, other]) => {
          const first = (await redeem(nodes.at(one), await obtainCode(nodes.issuer, signedIn, 'short', offline))).json;
          return { one, other, first, second: (await refresh(nodes.at(one), first.refresh_token, 'short')).json };
        }),
      );
      assertion = { grant_type: 'client_credentials', ...(await asserting.sign(nodes.issuer, { exp: epochSeconds() + 1 })) };
      // The node accepts a JWT for 15 s after the end of the JWT, and is 12 s ahead.
      await holdsUntil(Date.now() + 3 * SECOND, async () =>
        expect((await postForm(`${nodes.at(0)}/connect/token`, assertion)).status).toBe(200),
      );
      spentAt = performance.now();
    });

    test('L6: sign-in, codes, refreshes and retries work from any node to any other, and end no family', async () => {
      for (const [one, other] of pairs) {
        const [here, there] = [nodes.at(one), nodes.at(other)];
        const code = await obtainCode(nodes.issuer, signedIn, 'web', offline);
        const first = await redeem(here, code);
        expect({ one, other, status: first.status }).toEqual({ one, other, status: 200 });
        const second = await refresh(here, first.json.refresh_token);
        const retry = await refresh(there, first.json.refresh_token);
        expect([one, other, second.status, retry.status]).toEqual([one, other, 200, 200]);
        expect(retry.json.refresh_token).toBe(second.json.refresh_token);
        const third = await refresh(there, second.json.refresh_token);
        expect([one, other, third.status]).toEqual([one, other, 200]);
        for (const { json } of [first, second, retry, third])
          for (const at of [here, there]) expect(await isActive(at, json.access_token)).toBe(true);
        expect((await userinfo(there, first.json.access_token)).status).toBe(200);
      }
    });

    test('L6: a code that is used twice on different nodes keeps what it bought; a revocation holds on all', async () => {
      for (const [one, other] of pairs) {
        const code = await obtainCode(nodes.issuer, signedIn, 'web', offline);
        const answers = await Promise.all([redeem(nodes.at(one), code), redeem(nodes.at(other), code)]);
        expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
        const { json } = answers.find(({ status }) => status === 200) as (typeof answers)[number];
        expect(await redeem(nodes.at(other), code)).toMatchObject(invalidGrant);
        expect([one, other, await isActive(nodes.issuer, json.access_token)]).toEqual([one, other, true]);
        await revoke(nodes.at(one), json.access_token);
        for (const index of indexes) expect(await isActive(nodes.at(index), json.access_token)).toBe(false);
      }
    });

    test('L6: pushed requests, assertions, single sign-on and logout', async () => {
      for (const [one, other] of pairs.filter(([each, another]) => each !== another)) {
        const agent = new Agent();
        const { verifier, challenge } = createPkce();
        const request = { client_id: 'web', response_type: 'code', redirect_uri: redirectUri, scope: 'openid' };
        const pushed = await postForm(
          `${nodes.at(one)}/connect/par`,
          { ...request, code_challenge: challenge, code_challenge_method: 'S256' },
          authorizationOf('web'),
        );
        await obtainCode(nodes.issuer, agent, 'jwt');
        const url = `${nodes.issuer}/connect/authorize?${new URLSearchParams({ client_id: 'web', request_uri: pushed.json.request_uri })}`;
        const answer = await agent.get(url);
        const code = responseOf(answer).get('code') ?? '';
        const bought = await redeem(nodes.at(other), { client: 'web', code, verifier });
        expect([one, other, bought.status]).toEqual([one, other, 200]);

        const assertion = await asserting.sign(nodes.issuer);
        const grant = { grant_type: 'client_credentials', ...assertion };
        expect((await postForm(`${nodes.at(one)}/connect/token`, grant)).status).toBe(200);
        expect((await postForm(`${nodes.at(other)}/connect/token`, grant)).status).toBe(401);

        await agent.follow(await agent.submit(await agent.get(`${nodes.issuer}/connect/endsession`), { logout: 'yes' }));
        expect((await userinfo(nodes.at(other), bought.json.access_token)).status).toBe(401);
        const silent = await agent.get(
          authorizeUrl(nodes.issuer, { prompt: 'none', code_challenge: challenge, code_challenge_method: 'S256' }),
        );
        expect(responseOf(silent).get('error')).toBe('login_required');
      }
    });

    test('L6: a sign-in ends with what voids it later, on whatever nodes the two happen, and the next one stays', async () => {
      const token = await adminToken(nodes.issuer, 'root');
      const root = administer(nodes.issuer, token);
      const users = `/tenants/${(await tenantIds(root)).Acme}/users`;
      const carol = (await root(`${users}?userName=carol@acme.test`)).json.items[0].id;
      for (const [one, other] of pairs) {
        const agent = new AgentOfNode(nodes, one);
        const signIn = async () =>
          (await obtainTokens(nodes.issuer, { agent, userName: 'carol@acme.test', password: 'carol' })).tokens.access_token;
        const before = await signIn();
        const { status } = await administer(nodes.at(other), token).post(`${users}/${carol}/sign-out`);
        expect([one, other, status, await isActive(nodes.issuer, before)]).toEqual([one, other, 200, false]);
        const after = await signIn();
        for (const index of indexes) expect([one, other, await isActive(nodes.at(index), after)]).toEqual([one, other, true]);
      }
    });

    test('L6: the grace lasts as long as it should: a replay after it ends the family, whoever spent the token and whoever sees it', async () => {
      await sleep(Math.max(0, spentAt + PAST_GRACE - performance.now()));
      for (const { one, other, first, second } of families) {
        expect(await refresh(nodes.at(other), first.refresh_token, 'short')).toMatchObject(invalidGrant);
        expect([one, other, await isActive(nodes.issuer, second.access_token, 'short')]).toEqual([one, other, false]);
      }
    });

    test('L6, RFC 7523 §3: an assertion that the node ahead took is refused by the node behind, for which it has not ended', async () => {
      await sleep(Math.max(0, spentAt + PAST_GRACE - performance.now()));
      for (const index of indexes) expect((await postForm(`${nodes.at(index)}/connect/token`, assertion)).status).toBe(401);
    });

    test('L6, OpenID Connect Core §3.1.2.1: max_age is measured by the time that the nodes share', async () => {
      await sleep(Math.max(0, spentAt + PAST_GRACE - performance.now()));
      const outcome = async ({ cookies }: Agent, index: number, maxAge: number) => {
        const agent = Object.assign(new AgentOfNode(nodes, index), { cookies: new Map(cookies) });
        const { challenge } = createPkce();
        const silent = { prompt: 'none', max_age: String(maxAge), code_challenge: challenge, code_challenge_method: 'S256' };
        const response = responseOf(await agent.get(authorizeUrl(nodes.issuer, silent)));
        return response.get('error') ?? (response.has('code') && 'code');
      };
      for (const [one, other] of every) {
        const fresh = new AgentOfNode(nodes, one);
        await holdsUntil(Date.now() + 9 * SECOND, async () => {
          await obtainCode(nodes.issuer, fresh);
          expect([one, other, await outcome(fresh, other, 10)]).toEqual([one, other, 'code']);
        });
      }
      for (const index of indexes) expect([index, await outcome(signedIn, index, 3)]).toEqual([index, 'login_required']);
    });

    test('L6: the two nodes that are off say so, once', () => {
      const told = nodes.logged.filter((line) => line.includes('the clocks of this node and its store differ'));
      expect(told.map((line) => Math.round(Number(/aheadSeconds: (-?[\d.]+)/.exec(line)?.[1]))).sort()).toEqual([-12, 12]);
      // The log also reports a store that is too slow for the load of the machine.
      expect(nodes.logged.filter((line) => !/the store is (unavailable|available again)/.test(line))).toEqual(told);
    });
  });

  (isRefusalTried ? describe : describe.skip)('90 s ahead, as the machine, and 90 s behind', () => {
    test('L6: a node refuses to serve, says why, spends and ends nothing; and serves once its clock is set', async () => {
      // Node 0 starts with a wrong clock, and the clock of node 2 is set wrong later.
      await nodes.kill(0);
      await nodes.start(0, 90 * SECOND);
      nodes.setClock(2, -90 * SECOND);
      await until(async () => (await isActiveOrAway(nodes.at(2))) === 503);
      const right = nodes.at(1);
      const told = (text: string) => nodes.logged.filter((line) => line.includes(text));
      const refusing = await until(
        () => told('this node refuses requests, because its clock and the clock of its store differ too much'),
        ({ length }) => length === 2,
      );
      expect(refusing.map((line) => Math.round(Number(/aheadSeconds: (-?[\d.]+)/.exec(line)?.[1]))).sort()).toEqual([-90, 90]);

      // The front sends the requests of a sign-in to every node, so all clocks are set right first.
      const agent = new Agent();
      nodes.setClock(0, 0);
      nodes.setClock(2, 0);
      const serves = (index: number) => until(async () => (await isActiveOrAway(nodes.at(index))) !== 503);
      await Promise.all([serves(0), serves(2)]);
      const codes = [];
      for (let count = 0; count < 3; count += 1) codes.push(await obtainCode(nodes.issuer, agent, 'web', offline));
      const first = (await redeem(right, codes[0]!)).json;
      const second = (await refresh(right, first.refresh_token)).json;

      nodes.setClock(0, 90 * SECOND);
      nodes.setClock(2, -90 * SECOND);
      for (const wrong of [nodes.at(0), nodes.at(2)]) await until(async () => (await isActiveOrAway(wrong)) === 503);
      for (const wrong of [nodes.at(0), nodes.at(2)]) {
        expect(await redeem(wrong, codes[1]!)).toMatchObject(away);
        expect(await refresh(wrong, second.refresh_token)).toMatchObject(away);
        expect(await refresh(wrong, first.refresh_token)).toMatchObject(away);
        expect(await postForm(`${wrong}/connect/introspect`, { token: second.access_token }, authorizationOf('web'))).toMatchObject(away);
        expect((await userinfo(wrong, second.access_token)).status).toBe(503);
      }
      expect(await isActive(right, second.access_token)).toBe(true);
      expect((await redeem(right, codes[1]!)).status).toBe(200);
      const third = await refresh(right, second.refresh_token);
      expect(third.status).toBe(200);

      nodes.setClock(0, 0);
      nodes.setClock(2, 0);
      await Promise.all([serves(0), serves(2)]);
      expect((await redeem(nodes.at(0), codes[2]!)).status).toBe(200);
      expect((await refresh(nodes.at(2), third.json.refresh_token)).status).toBe(200);
    });

    const isActiveOrAway = async (issuer: string): Promise<number> =>
      (await postForm(`${issuer}/connect/introspect`, { token: `${'a'.repeat(12)}${'b'.repeat(32)}` }, authorizationOf('web'))).status;
  });
}

withServer('MONGODB_URL', (mongo) => {
  if (process.env.PROVE) describe('over MongoDB', () => clocksOver({ artifacts: mongo, directory: mongo }, true));
  withServer('REDIS_URL', (redis) => describe('over Redis', () => clocksOver({ artifacts: redis, directory: mongo }, true)));
});
