/**
 * CR-COOP: users' own pages are isolated from the windows that opened them. Pages on the way of a sign-in or a sign-out are not isolated.
 */

import { beforeAll, describe, expect, test } from '@jest/globals';
import { Agent, type Answer, authorizeUrl, titleOf } from '../support/client/agent.js';
import { forgetRoutes, recordedRoutes } from '../support/requests/recorded-routes.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { codeOf, copied } from '../support/sign-in/factors.js';

beforeAll(forgetRoutes);
const service = useIdp({ seed: testSeed, mail: { send: async () => {} } });
const openerOf = ({ headers }: Answer) => headers.get('cross-origin-opener-policy');
const at = (path: string) => service.issuer + path;

/** Pages on which users see or change their own data. */
const own = [
  '/idp/account',
  '/idp/account/applications',
  '/idp/account/data',
  '/idp/account/password',
  '/idp/account/profile',
  '/idp/account/sessions',
  '/idp/account/sign-ins',
  '/idp/ciba',
  '/idp/email',
  '/idp/factors',
  '/idp/factors/app',
  '/idp/identities',
  '/idp/linked-accounts',
];

/** Returns all answers that the browser gets on the way, including redirects. */
async function passed(agent: Agent, answer: Answer): Promise<Answer[]> {
  const all = [answer];
  for (let current = answer; current.location?.startsWith(service.issuer); all.push(current)) current = await agent.get(current.location);
  return all;
}
let agent: Agent;
beforeAll(async () => {
  agent = new Agent();
  const asked = await agent.follow(await agent.get(at('/idp/account')));
  const named = await agent.follow(await agent.submit(asked, { identifier: 'bob@globex.test' }));
  const [page] = (await passed(agent, await agent.submit(named, { password: 'bob' }))).slice(-1);
  expect(page && titleOf(page)).toBe('Your account');
});

describe('the route list', () => {
  test('a page of the list is isolated, and no other answer to a GET is', async () => {
    const paths = recordedRoutes().flatMap(({ path, methods }) =>
      methods.includes('GET') ? [path.replaceAll(/:\w+(?:\([^)]*\))?|\*\w+/g, 'x').replaceAll(/[{}]/g, '')] : [],
    );
    expect(paths.length).toBeGreaterThan(30);
    const isolated: string[] = [];
    for (const path of new Set(paths)) {
      const answer = await agent.get(at(path));
      if (openerOf(answer) === null) continue;
      expect([path, answer.location, openerOf(answer)]).toEqual([path, undefined, 'same-origin']);
      isolated.push(path);
    }
    // These pages report that nothing with the name exists.
    const others = ['/idp/ciba/requests/x', '/idp/linked-accounts/confirm', '/idp/linked-accounts/unlink'];
    expect(isolated.sort()).toEqual([...own, ...others].sort());
  });

  test('an own page that sends to a sign-in is not', async () => {
    for (const path of own) {
      const stranger = new Agent();
      for (const answer of await passed(stranger, await stranger.get(at(path))))
        expect([answer.url, openerOf(answer)]).toEqual([answer.url, null]);
    }
  });
});

describe('a sign-in and a sign-out', () => {
  test('pass no isolated answer, with a second factor, a wrong password and consent', async () => {
    const browser = new Agent();
    const answers: Answer[] = [];
    const go = async (answer: Answer): Promise<Answer> => {
      const all = await passed(browser, answer);
      answers.push(...all);
      return all.at(-1) as Answer;
    };
    const client = { client_id: 'third-party', nonce: 'n', acr_values: 'mfa' };
    const asked = await go(await browser.get(authorizeUrl(service.issuer, client)));
    const named = await go(await browser.submit(asked, { identifier: 'bob@globex.test' }));
    const again = await go(await browser.submit(named, { password: 'wrong' }));
    const enrolment = await go(await browser.submit(again, { password: 'bob' }));
    const [secret = ''] = copied(enrolment);
    const codes = await go(await browser.submit(enrolment, { code: codeOf(secret) }));
    expect(copied(codes).length).toBeGreaterThan(5);
    await go(await browser.submit(codes, {}));
    const question = await go(await browser.get(at('/connect/endsession')));
    await go(await browser.submit(question, { logout: 'yes' }));
    expect(answers.length).toBeGreaterThan(6);
    expect(answers.map((answer) => [answer.url, openerOf(answer)]).filter(([, policy]) => policy !== null)).toEqual([]);
  });
});
