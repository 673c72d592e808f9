import { afterAll, expect, test } from '@jest/globals';
import { Agent, createPkce, postForm } from '../support/client/agent.js';
import { callLoopback } from '../support/client/receivers/logout-receiver.js';
import { authorizationOf, isActive, obtainCode, redeem, responseOf } from '../support/client/steps.js';
import { expectQuietLog } from '../support/service/leaks.js';
import { redirectUri } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { testRaces } from '../support/time/races.js';
import { atOnce, type Contestants, createContestants } from '../support/time/rounds.js';

/** Numbers of rounds and uses: few with the suite, many with `npm run prove`. */
const [ROUNDS, USES] = process.env.PROVE ? [100, 50] : [1, 30];
let contestants: Contestants;
const service = useIdp(async () => {
  contestants = await createContestants();
  return { seed: contestants.seed, outgoing: callLoopback };
});
afterAll(async () => {
  contestants.receiver.close();
});

/** Waits for turns of the event loop: the memory store answers immediately, so a request waits for nothing else. */
const pause = async (turns: number): Promise<void> => {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

testRaces(() => ({ ...contestants, issuer: service.issuer }), {
  credentials: ROUNDS,
  uses: USES,
  signIns: ROUNDS,
  logouts: 2 * ROUNDS,
  pause,
});

test('C1: a pushed request in two browsers', async () => {
  const pushed = await postForm(
    `${service.issuer}/connect/par`,
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
  const url = `${service.issuer}/connect/authorize?${new URLSearchParams({ client_id: 'web', request_uri: pushed.json.request_uri })}`;
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

test('B11: a client assertion, spread over the endpoints', async () => {
  const assertion = await contestants.asserting.sign(service.issuer);
  const answers = await atOnce(50, (index) =>
    postForm(`${service.issuer}/connect/${['token', 'introspect', 'revocation'][index % 3]}`, {
      grant_type: 'client_credentials',
      token: 'x',
      ...assertion,
    }),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
});

test('F3: ten tabs of one client at once: every code works, and one logout ends what each bought', async () => {
  const agent = new Agent();
  await obtainCode(service.issuer, agent, 'jwt');
  const codes = await atOnce(10, () => obtainCode(service.issuer, agent));
  const granted = await Promise.all(codes.map((code) => redeem(service.issuer, code)));
  expect(new Set(granted.map(({ status }) => status))).toEqual(new Set([200]));
  await agent.follow(await agent.submit(await agent.get(`${service.issuer}/connect/endsession`), { logout: 'yes' }));
  for (const { json } of granted) expect(await isActive(service.issuer, json.access_token)).toBe(false);
});

test('races leave nothing in the log', () => expectQuietLog(service));
