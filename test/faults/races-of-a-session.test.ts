/** Concurrent requests over a slow store: the memory store answers too fast for the requests to meet. */
import { afterAll, expect, test } from '@jest/globals';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import { Agent, authorizeUrl, createPkce } from '../support/client/agent.js';
import { callLoopback } from '../support/client/receivers/logout-receiver.js';
import { obtainCode, redeem, responseOf, userinfo } from '../support/client/steps.js';
import { expectQuietLog } from '../support/service/leaks.js';
import { useIdp } from '../support/service/use-idp.js';
import { latentArtifacts } from '../support/stores/latent-artifacts.js';
import { testRaces } from '../support/time/races.js';
import { type Contestants, createContestants, ssoClients, tabOf } from '../support/time/rounds.js';

/** Numbers of rounds and uses: few with the suite, many with `npm run prove`. */
const [ROUNDS, USES] = process.env.PROVE ? [100, 50] : [1, 20];
let contestants: Contestants;
const service = useIdp(async () => {
  contestants = await createContestants();
  return { artifacts: latentArtifacts(memoryArtifacts()), seed: contestants.seed, outgoing: callLoopback };
});
afterAll(async () => {
  contestants.receiver.close();
});

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

testRaces(() => ({ ...contestants, issuer: service.issuer }), {
  credentials: ROUNDS,
  uses: USES,
  signIns: ROUNDS,
  logouts: 3 * ROUNDS,
  pause: (steps) => pause(3 * steps),
});

const { verifier, challenge } = createPkce();
const url = (parameters: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: challenge, code_challenge_method: 'S256', ...parameters });

test('F2: another person’s sign-in raced with authorizations leaves nothing of the first', async () => {
  for (let round = 0; round < 2 * ROUNDS; round += 1) {
    const client = ssoClients[round % 3] as string;
    const agent = new Agent();
    await obtainCode(service.issuer, agent, 'pairwise');
    const tab = tabOf(agent);
    const page = await agent.submit(await agent.follow(await agent.get(url({ prompt: 'login' }))), { identifier: 'bob@globex.test' });
    const [answers, proven] = await Promise.all([
      Promise.all(
        Array.from({ length: 10 }, async (_, index) => {
          await pause(150 + index * 8);
          return tab().get(url({ client_id: client }));
        }),
      ),
      agent.submit(page, { password: 'bob' }),
    ]);
    expect(responseOf(await agent.follow(proven)).get('code')).not.toBeNull();
    const codes = answers.flatMap((answer) => responseOf(answer).get('code') ?? []);
    const bought = await Promise.all(codes.map((code) => redeem(service.issuer, { client, code, verifier })));
    const tokens = bought.flatMap(({ json }) => json.access_token ?? []);
    for (const token of tokens) expect((await userinfo(service.issuer, token)).status).toBe(401);
    expect(responseOf(await tab().get(url({ prompt: 'none' }))).get('error')).toBe('login_required');
  }
});

test('races leave nothing in the log', () => expectQuietLog(service));
