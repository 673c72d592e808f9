import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { Agent, authorizeUrl, createPkce, formOf, type Json, postForm } from '../support/agent.js';
import { type AssertingClient, createAssertingClient } from '../support/assertions.js';
import { startIdp, type TestIdp } from '../support/idp.js';
import { expectQuietLog } from '../support/leaks.js';
import { redirectUri, testSeed } from '../support/seed.js';
import { authorizationOf, isActive, obtainCode, redeem, refresh, responseOf, revoke, userinfo } from '../support/steps.js';

const PARALLEL = 50;
/** Few with the suite; `npm run prove` runs many. */
const ROUNDS = process.env.PROVE ? 100 : 3;
jest.setTimeout(10_000 * ROUNDS);

let it: TestIdp;
let asserting: AssertingClient;
const alice = new Agent();
beforeAll(async () => {
  asserting = await createAssertingClient();
  it = await startIdp({ seed: { ...testSeed, clients: [...testSeed.clients, asserting.seed] } });
  await obtainCode(it.issuer, alice);
});
afterAll(() => it.close());

const atOnce = <T>(count: number, run: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => run(index)));

/** How many of the answers' tokens work. */
const alive = async (tokens: readonly (string | undefined)[], client = 'web'): Promise<number> => {
  const distinct = [...new Set(tokens.filter((token) => token !== undefined))];
  return (await Promise.all(distinct.map((token) => isActive(it.issuer, token, client)))).filter(Boolean).length;
};
const errorsOf = (answers: readonly { status: number; json: Json }[]) => [
  ...new Set(answers.filter(({ status }) => status !== 200).map(({ status, json }) => `${status} ${json?.error}`)),
];
const rounds = Array.from({ length: ROUNDS }, (_, round) => round + 1);

describe('B1, J1: one of many uses at once succeeds', () => {
  test.each(['web', 'spa', 'jwt'])('B1: a code of %s', async (client) => {
    for (const _round of rounds) {
      const code = await obtainCode(it.issuer, alice, client, { scope: 'openid offline_access' });
      const answers = await atOnce(PARALLEL, () => redeem(it.issuer, code));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(errorsOf(answers)).toEqual(['400 invalid_grant']);
      if (client === 'spa') {
        expect((await userinfo(it.issuer, answers.find(({ status }) => status === 200)?.json.access_token)).status).toBe(200);
      } else {
        expect(
          await alive(
            answers.map(({ json }) => json.access_token),
            client,
          ),
        ).toBe(1);
        expect(
          await alive(
            answers.map(({ json }) => json.refresh_token),
            client,
          ),
        ).toBe(1);
      }
    }
  });

  test('C1: a pushed request', async () => {
    for (const _round of rounds) {
      const { verifier, challenge } = createPkce();
      const pushed = await postForm(
        `${it.issuer}/connect/par`,
        {
          client_id: 'web',
          response_type: 'code',
          redirect_uri: redirectUri,
          scope: 'openid',
          code_challenge: challenge,
          code_challenge_method: 'S256',
        },
        authorizationOf('web'),
      );
      const url = `${it.issuer}/connect/authorize?${new URLSearchParams({ client_id: 'web', request_uri: pushed.json.request_uri })}`;
      const answers = await atOnce(PARALLEL, () => alice.get(url));
      const codes = answers.flatMap((answer) => responseOf(answer).get('code') ?? []);
      expect(codes).toHaveLength(1);
      for (const answer of answers.filter(({ location }) => location === undefined)) {
        expect(answer.status).toBe(400);
        expect(answer.body).toContain('invalid_request_uri');
      }
      const redeemed = await redeem(it.issuer, { client: 'web', code: codes[0] as string, verifier });
      expect(await isActive(it.issuer, redeemed.json.access_token)).toBe(true);
      expect(responseOf(await alice.get(url)).get('code')).toBeNull();
    }
  });

  test('C1: a pushed request in two browsers', async () => {
    const pushed = await postForm(
      `${it.issuer}/connect/par`,
      {
        client_id: 'web',
        response_type: 'code',
        redirect_uri: redirectUri,
        scope: 'openid',
        code_challenge: createPkce().challenge,
        code_challenge_method: 'S256',
      },
      authorizationOf('web'),
    );
    const url = `${it.issuer}/connect/authorize?${new URLSearchParams({ client_id: 'web', request_uri: pushed.json.request_uri })}`;
    const agents = [new Agent(), new Agent()];
    const passwords = await Promise.all(
      agents.map(async (agent) => agent.submit(await agent.follow(await agent.get(url)), { identifier: 'alice@acme.test' })),
    );
    const answers = await Promise.all(
      agents.map(async (agent, index) => agent.follow(await agent.submit(passwords[index]!, { password: 'alice' }))),
    );
    expect(answers.flatMap((answer) => responseOf(answer).get('code') ?? [])).toHaveLength(1);
    expect(answers.map((answer) => responseOf(answer).get('error')).filter(Boolean)).toEqual(['invalid_request_uri']);
  });

  test('B11: a client assertion', async () => {
    for (const _round of rounds) {
      const assertion = await asserting.sign(it.issuer);
      const answers = await atOnce(PARALLEL, () =>
        postForm(`${it.issuer}/connect/token`, { grant_type: 'client_credentials', ...assertion }),
      );
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(errorsOf(answers)).toEqual(['401 invalid_client']);
      expect(
        await alive(
          answers.map(({ json }) => json.access_token),
          'orders',
        ),
      ).toBe(1);
    }
  });

  test('B11: a client assertion, spread over the endpoints', async () => {
    const assertion = await asserting.sign(it.issuer);
    const answers = await atOnce(PARALLEL, (index) =>
      postForm(`${it.issuer}/connect/${['token', 'introspect', 'revocation'][index % 3]}`, {
        grant_type: 'client_credentials',
        token: 'x',
        ...assertion,
      }),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  test.each(['web', 'jwt'])('B3: a refresh token of %s has one successor, and the family lives', async (client) => {
    for (const _round of rounds) {
      const first = (await redeem(it.issuer, await obtainCode(it.issuer, alice, client, { scope: 'openid offline_access' }))).json;
      const answers = await atOnce(PARALLEL, () => refresh(it.issuer, first.refresh_token, client));
      const successors = new Set(answers.flatMap(({ json }) => json.refresh_token ?? []));
      expect(successors.size).toBe(1);
      expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
      const [successor = ''] = successors;
      expect(await isActive(it.issuer, successor, client)).toBe(true);
      const next = await refresh(it.issuer, successor, client);
      expect(next.status).toBe(200);
      expect(await alive([next.json.access_token, next.json.refresh_token], client)).toBe(2);
    }
  });

  test('B3, B6: refreshes raced with a revocation leave nothing alive', async () => {
    for (const _round of rounds) {
      const first = (await redeem(it.issuer, await obtainCode(it.issuer, alice, 'web', { scope: 'openid offline_access' }))).json;
      const [answers] = await Promise.all([
        atOnce(20, () => refresh(it.issuer, first.refresh_token)),
        new Promise((resolve) => setImmediate(resolve)).then(() => revoke(it.issuer, first.refresh_token)),
      ]);
      expect(await alive([first.access_token, ...answers.flatMap(({ json }) => [json.access_token, json.refresh_token])])).toBe(0);
      expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
    }
  });
});

describe('F2, F3: one session, many requests', () => {
  const clients = ['web', 'jwt', 'spa'];

  test('F3: three clients at once lose no authorization, and one logout ends them all', async () => {
    for (const _round of rounds) {
      const agent = new Agent();
      await obtainCode(it.issuer, agent, 'pairwise');
      const codes = await Promise.all(clients.map((client) => obtainCode(it.issuer, agent, client, { scope: 'openid offline_access' })));
      const granted = await Promise.all(codes.map((code) => redeem(it.issuer, code)));
      expect(granted.map(({ status }) => status)).toEqual([200, 200, 200]);

      const logout = await agent.get(`${it.issuer}/connect/endsession`);
      await agent.follow(await agent.submit(logout, { logout: 'yes' }));
      for (const { json } of granted) expect((await userinfo(it.issuer, json.access_token)).status).toBe(401);
      for (const [index, client] of clients.entries())
        expect((await refresh(it.issuer, granted[index]?.json.refresh_token, client)).json.error).toBe('invalid_grant');
    }
  });

  test('F3: ten tabs of one client at once: every code works, and one logout ends what each bought', async () => {
    const agent = new Agent();
    await obtainCode(it.issuer, agent, 'jwt');
    const codes = await atOnce(10, () => obtainCode(it.issuer, agent));
    const granted = await Promise.all(codes.map((code) => redeem(it.issuer, code)));
    expect(new Set(granted.map(({ status }) => status))).toEqual(new Set([200]));
    await agent.follow(await agent.submit(await agent.get(`${it.issuer}/connect/endsession`), { logout: 'yes' }));
    expect(await alive(granted.map(({ json }) => json.access_token))).toBe(0);
  });

  test('F2: a logout raced with authorizations leaves no session and no token', async () => {
    for (let round = 0; round < 8; round += 1) {
      const agent = new Agent();
      const { verifier, challenge } = createPkce();
      const { json: before } = await redeem(it.issuer, await obtainCode(it.issuer, agent));
      const kept = new Map(agent.cookies);
      const page = await agent.get(`${it.issuer}/connect/endsession`);
      const { action, fields } = formOf(page);
      const url = authorizeUrl(it.issuer, {
        client_id: clients[round % 2] as string,
        code_challenge: challenge,
        code_challenge_method: 'S256',
      });
      // Every browser tab still sends the cookie it had.
      const tab = () => {
        const twin = new Agent();
        for (const [key, cookie] of kept) twin.cookies.set(key, cookie);
        return twin;
      };
      const pause = async (ticks: number) => {
        for (let tick = 0; tick < ticks; tick += 1) await new Promise((resolve) => setImmediate(resolve));
      };
      const [answers] = await Promise.all([
        atOnce(8, async (index) => {
          await pause(index);
          return tab().get(url);
        }),
        pause(round).then(() => tab().post(action, { ...fields, logout: 'yes' })),
      ]);
      expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
      const after = tab();
      const again = await after.follow(await after.get(url));
      expect(responseOf(again).get('code')).toBeNull();
      expect(again.body).toContain('name="identifier"');
      const codes = answers.flatMap((answer) => responseOf(answer).get('code') ?? []);
      const client = clients[round % 2] as string;
      const bought = await Promise.all(codes.map((code) => redeem(it.issuer, { client, code, verifier })));
      expect(await alive([before.access_token])).toBe(0);
      expect(
        await alive(
          bought.map(({ json }) => json.access_token),
          client,
        ),
      ).toBe(0);
    }
  });
});

test('races leave nothing in the log', () => expectQuietLog(it));
