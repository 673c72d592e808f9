/** Threats G4, I1: guesses of codes are bounded, and a stranger with the password does not keep the owner out. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { captureMail } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, signIn, titleOf } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { codeOf, enrol, namedPeople, postTo, problemOf, submit } from '../support/sign-in/factors.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

const names = Array.from({ length: 4 }, (_, index) => `guessed${index}`);
const [acme, globex] = testSeed.tenants;
const captured = captureMail();
const service = useIdp({
  mail: captured.mail,
  limits: { signInFailures: 100, signInFailuresPerAddress: 1000 },
  seed: { ...testSeed, tenants: [{ ...acme, persons: [...(acme?.persons ?? []), ...namedPeople(names)] }, globex] } as never,
});
let me = '';
let next = 0;
let seconds = 0;
const later = (more: number) => {
  seconds += more;
  passTime(seconds);
};
beforeEach(() => {
  me = names[next++] ?? '';
  later(0);
});
afterEach(backToPresent);

const pkce = createPkce();
const url = (more = {}) => authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...more });
const challenged = async (agent = new Agent()) => ({ agent, page: await signIn(agent, url(), me, me) });
/** Guesses in several sign-ins, because each allows five guesses. The guesses of one form differ, because the same guess counts once. */
async function guess(count: number, of: 'code' | 'recovery', secret: string): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (let left = count; left > 0; left -= 5) {
    const { agent, page } = await challenged();
    for (let time = Math.min(5, left); time > 0; time -= 1)
      answers.push(await postTo(agent, page, '/factors/code', { [of]: of === 'code' ? codeOf(secret, 9 + time) : `0000-0000-000${time}` }));
  }
  return answers;
}
const toldOf = (name: string) =>
  captured.mails.filter(({ to, subject }) => to === `${name}@acme.test` && subject === 'Wrong codes at your sign-in');

test('thirty wrong codes of the app in a day leave the owner the recovery codes, and one mail', async () => {
  const { secret, codes } = await enrol(new Agent(), url({ acr_values: 'mfa' }), me, me);
  for (let round = 0; round < 3; round += 1) {
    later(16 * 60);
    expect((await guess(10, 'code', secret)).map(({ status }) => status)).toEqual(Array(10).fill(400));
  }
  later(16 * 60);
  const { agent, page } = await challenged();
  const refused = await submit(agent, page, { code: codeOf(secret) });
  expect([refused.status, problemOf(refused)]).toEqual([429, expect.stringMatching(/^Too many wrong codes. Try again in \d+ min/)]);
  const asked = await agent.get(/href="([^"]*with=recovery)"/.exec(refused.body)?.[1] ?? '');
  expect(membersOf(await submit(agent, asked, { recovery: codes[0] ?? '' }))).toHaveProperty('code');
  await until(() => toldOf(me).length > 0);
  const [mail] = toldOf(me);
  expect([mail?.kind, mail?.text]).toEqual([
    'account-changed',
    expect.stringContaining('Somebody entered the password of your account at Acme'),
  ]);
  // After a day, codes of the app are accepted again.
  later(86_400);
  const { agent: tomorrow, page: again } = await challenged();
  expect(membersOf(await submit(tomorrow, again, { code: codeOf(secret) }))).toHaveProperty('code');
  expect(toldOf(me)).toHaveLength(1);
});

test('recovery codes are bounded by themselves, for 15 minutes', async () => {
  const { secret, codes } = await enrol(new Agent(), url({ acr_values: 'mfa' }), me, me);
  later(60);
  const answers = await guess(15, 'recovery', secret);
  expect(answers.map(({ status }) => status)).toEqual([...Array(10).fill(400), ...Array(5).fill(429)]);
  const { agent, page } = await challenged();
  expect((await postTo(agent, page, '/factors/code', { recovery: codes[0] ?? '' })).status).toBe(429);
  expect(membersOf(await submit(agent, page, { code: codeOf(secret) }))).toHaveProperty('code');
  later(16 * 60);
  const { agent: other, page: fresh } = await challenged();
  expect(titleOf(fresh)).toBe('Confirm that it is you');
  expect(membersOf(await postTo(other, fresh, '/factors/code', { recovery: codes[0] ?? '' }))).toHaveProperty('code');
  await until(() => toldOf(me).length > 0);
});
