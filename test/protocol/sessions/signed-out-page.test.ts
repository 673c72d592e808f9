/** The page after a sign-out says that the user is signed out only if nobody is signed in with the browser. */
import { describe, expect, test } from '@jest/globals';
import { Agent, type Answer, obtainTokens, titleOf } from '../../support/client/agent.js';
import { testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

const homepage = 'https://web.test/';
const seed = {
  ...testSeed,
  clients: testSeed.clients.map((client) =>
    client.id === 'web' ? { ...client, metadata: { ...client.metadata, client_uri: homepage } } : client,
  ),
} as typeof testSeed;

describe.each([
  ['at an issuer without a path', {}],
  ['at an issuer with a path', { path: '/login' }],
])('the URL of the signed-out page, %s', (_, where) => {
  const service = useIdp({ ...where, seed });
  const [signedOut, signedIn] = ['You are signed out', 'You are still signed in'];
  const urlOf = (query = '') => `${service.issuer}/connect/endsession/success${query}`;
  const titlesIn = async (agent: Agent): Promise<readonly string[]> =>
    Promise.all(['', '?client_id=web', '?result=guessed'].map(async (query) => titleOf(await agent.get(urlOf(query)))));
  const question = (agent: Agent): Promise<Answer> => agent.get(`${service.issuer}/connect/endsession?client_id=web`);

  test('says so in a browser in which nobody is signed in', async () => {
    expect(await titlesIn(new Agent())).toEqual([signedOut, signedOut, signedOut]);
  });

  test('says in a browser in which a user is signed in that the user is, and ends nothing', async () => {
    const { agent } = await obtainTokens(service.issuer, {});
    expect(await titlesIn(agent)).toEqual([signedIn, signedIn, signedIn]);
    const [plain, ofClient] = [await agent.get(urlOf()), await agent.get(urlOf('?client_id=web'))];
    expect([plain.status, plain.body.includes(`href="${service.issuer}/idp/account"`), plain.body.includes(homepage)]).toEqual([
      200,
      true,
      false,
    ]);
    expect([ofClient.status, ofClient.body.includes(`href="${homepage}"`)]).toEqual([200, true]);
    expect(titleOf(await question(agent))).toContain('Sign out of');
  });

  test('says what the user chose at the question', async () => {
    const { agent } = await obtainTokens(service.issuer, {});
    expect(titleOf(await agent.follow(await agent.submit(await question(agent), {})))).toBe(signedIn);
    expect(titleOf(await agent.follow(await agent.submit(await question(agent), { logout: 'yes' })))).toBe(signedOut);
    expect(await titlesIn(agent)).toEqual([signedOut, signedOut, signedOut]);
    await obtainTokens(service.issuer, { agent });
    expect(await titlesIn(agent)).toEqual([signedIn, signedIn, signedIn]);
  });

  test('says so where an administrator ended the session, or disabled the user', async () => {
    const ends: readonly ((user: { tid: string; userId: string }) => Promise<unknown>)[] = [
      (user) => service.idp.sessions.endAll(user),
      ({ tid, userId }) => service.idp.tenant(tid).users.disable(userId),
    ];
    for (const end of ends) {
      const { agent } = await obtainTokens(service.issuer, {});
      const [account] = await service.idp.directory.accounts.candidates('alice@acme.test');
      expect(await titlesIn(agent)).toEqual([signedIn, signedIn, signedIn]);
      await end({ tid: account!.tenant.id, userId: account!.person.user.id });
      expect(await titlesIn(agent)).toEqual([signedOut, signedOut, signedOut]);
    }
  });
});
