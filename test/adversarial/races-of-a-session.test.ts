/** Requests of one browser at once, over a store that takes its time: the memory store answers too soon for them to meet. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, signIn } from '../support/agent.js';
import { startIdp, type TestIdp } from '../support/idp.js';
import { latentArtifacts } from '../support/latent-artifacts.js';
import { expectQuietLog } from '../support/leaks.js';
import { isActive, obtainCode, redeem, refresh, responseOf, userinfo } from '../support/steps.js';

let it: TestIdp;
beforeAll(async () => {
  it = await startIdp({ artifacts: latentArtifacts(memoryArtifacts()) });
});
afterAll(() => it.close());

const clients = ['web', 'jwt', 'spa'] as const;
const rounds = [0, 1, 2, 3, 4, 5];
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const { verifier, challenge } = createPkce();
const url = (parameters: Record<string, string> = {}) =>
  authorizeUrl(it.issuer, { code_challenge: challenge, code_challenge_method: 'S256', ...parameters });
/** Another tab, with the cookies of this moment. */
const tabOf = (agent: Agent): (() => Agent) => {
  const cookies = [...agent.cookies];
  return () => {
    const tab = new Agent();
    for (const [key, cookie] of cookies) tab.cookies.set(key, cookie);
    return tab;
  };
};
const codesOf = (answers: readonly Answer[]) => answers.flatMap((answer) => responseOf(answer).get('code') ?? []);
/** What the codes buy that works. */
const alive = async (client: string, codes: readonly string[]): Promise<number> => {
  const bought = await Promise.all(codes.map((code) => redeem(it.issuer, { client, code, verifier })));
  const tokens = bought.flatMap(({ json }) => json.access_token ?? []);
  return (await Promise.all(tokens.map((token) => userinfo(it.issuer, token)))).filter(({ status }) => status === 200).length;
};
const logout = async (agent: Agent) =>
  agent.follow(await agent.submit(await agent.get(`${it.issuer}/connect/endsession`), { logout: 'yes' }));

test('F3: three clients in three tabs each lose no authorization; one logout ends all', async () => {
  const agent = new Agent();
  await obtainCode(it.issuer, agent, 'pairwise');
  const tab = tabOf(agent);
  const answers = await Promise.all(
    clients.flatMap((client) => Array.from({ length: 3 }, async () => ({ client, answer: await tab().get(url({ client_id: client })) }))),
  );
  const bought = await Promise.all(
    answers.map(({ client, answer }) => redeem(it.issuer, { client, code: responseOf(answer).get('code') as string, verifier })),
  );
  expect(new Set(bought.map(({ status }) => status))).toEqual(new Set([200]));
  for (const { json } of bought) expect((await userinfo(it.issuer, json.access_token)).status).toBe(200);
  await logout(agent);
  for (const { json } of bought) expect((await userinfo(it.issuer, json.access_token)).status).toBe(401);
});

test('F2: a logout raced with authorizations leaves no session, no code and no token', async () => {
  for (const round of rounds) {
    const client = clients[round % 3] as string;
    const agent = new Agent();
    await obtainCode(it.issuer, agent, 'pairwise');
    const tab = tabOf(agent);
    const { action, fields } = formOf(await tab().get(`${it.issuer}/connect/endsession`));
    const [answers] = await Promise.all([
      Promise.all(
        Array.from({ length: 10 }, async (_, index) => {
          await pause(index * 3);
          return tab().get(url({ client_id: client }));
        }),
      ),
      pause(round * 4).then(() => tab().post(action, { ...fields, logout: 'yes' })),
    ]);
    expect(answers.filter(({ status }) => status >= 500)).toEqual([]);
    expect(responseOf(await tab().get(url({ prompt: 'none' }))).get('error')).toBe('login_required');
    expect({ client, round, alive: await alive(client, codesOf(answers)) }).toEqual({ client, round, alive: 0 });
  }
});

test('F2: another person’s sign-in raced with authorizations leaves nothing of the first', async () => {
  for (const round of rounds.slice(0, 4)) {
    const client = clients[round % 3] as string;
    const agent = new Agent();
    await obtainCode(it.issuer, agent, 'pairwise');
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
    expect(await alive(client, codesOf(answers))).toBe(0);
    expect(responseOf(await tab().get(url({ prompt: 'none' }))).get('error')).toBe('login_required');
  }
});

test('B1, B3: one redemption and one successor, here too', async () => {
  const agent = new Agent();
  await signIn(agent, url());
  for (const _round of rounds) {
    const code = await obtainCode(it.issuer, agent, 'web', { scope: 'openid offline_access' });
    const redeemed = await Promise.all(Array.from({ length: 30 }, () => redeem(it.issuer, code)));
    const [first, ...others] = redeemed.filter(({ status }) => status === 200);
    expect(others).toEqual([]);
    const refreshed = await Promise.all(Array.from({ length: 30 }, () => refresh(it.issuer, first?.json.refresh_token)));
    const successors = new Set(refreshed.flatMap(({ json }) => json.refresh_token ?? []));
    expect(successors.size).toBe(1);
    expect(await isActive(it.issuer, [...successors][0] as string)).toBe(true);
  }
});

test('races leave nothing in the log', () => expectQuietLog(it));
