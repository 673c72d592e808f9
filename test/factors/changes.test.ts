/**
 * MFA-OLDSESSION: a user who has a second factor proves it before a page changes how the account is signed in to. The pages are taken from
 * the routes of the service.
 */
import { randomUUID } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import Router from '@koa/router';
import { captureMail } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, obtainTokens, signIn, titleOf } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { refresh } from '../support/client/steps.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { codeOf, copied, enrol, enrolOn, namedPeople, submit } from '../support/sign-in/factors.js';
import { type Upstream, upstreamMethod } from '../support/sign-in/upstream-method.js';
import { backToPresent, passTime } from '../support/time/clock.js';

/** Pages of a person, by the beginning of their path: those that change how the account is signed in to, and those that do not. */
const changing = ['/idp/factors', '/idp/email', '/idp/linked-accounts', '/idp/identities', '/idp/account/password', '/idp/account/profile'];
const others: Readonly<Record<string, string>> = {
  '/idp/account': 'leads to the other pages',
  '/idp/ciba': 'answers requests of applications',
  '/idp/impersonation': 'ends an impersonation',
};
/** Routes without the sign-in of a browser, or with their own sign-in. Other tests cover these routes. */
const elsewhere = /^\/idp\/(api|connect|interaction|invitations?|password|email|connections|register|check-session|eid)(\/|$)/;
/** Steps of these pages that change nothing: the list of accounts with the form that leads on, and the way back from a sign-in. */
const showing = [
  'GET /idp/linked-accounts',
  'POST /idp/linked-accounts',
  'GET /idp/factors/return',
  'GET /idp/email/return',
  'GET /idp/linked-accounts/return',
  'GET /idp/identities/return',
  'GET /idp/account/password/return',
  'GET /idp/account/profile/return',
];

const found = new Set<string>();
const { routes } = Router.prototype;
Router.prototype.routes = function recorded(this: Router) {
  for (const { path, methods } of this.stack) for (const method of methods) if (method !== 'HEAD') found.add(`${method} ${String(path)}`);
  return routes.call(this);
} as typeof routes;

const names = Array.from({ length: 24 }, (_, index) => `changing${index}`);
const [acme, globex] = testSeed.tenants;
const upstream: Upstream = { subject: '', seen: [] };
const service = useIdp({
  mail: captureMail().mail,
  extensions: [upstreamMethod('eid', upstream)],
  seed: { ...testSeed, tenants: [{ ...acme, persons: [...(acme?.persons ?? []), ...namedPeople(names)] }, globex] } as never,
});
const pkce = createPkce();
const url = (parameters: Record<string, string> = {}) =>
  authorizeUrl(service.issuer, { code_challenge: pkce.challenge, code_challenge_method: 'S256', ...parameters });

/** Returns the routes of pages that change something, without the routes that need a token. */
const steps = (): readonly string[] =>
  [...found]
    .filter((route) => changing.some((path) => route.split(' ')[1]?.startsWith(path)) && !route.includes(':token'))
    .filter((route) => !showing.includes(route));

let next = 0;
let me: string;
let account: { readonly oid: string; readonly tid: string; readonly child: string };
beforeAll(() => void passTime(0));
beforeEach(async () => {
  me = names[next++] ?? '';
  const [found] = await service.idp.directory.accounts.candidates(me);
  const other = (await service.idp.directory.tenants.find()).find(({ name }) => name === 'Globex')?.id ?? '';
  const { user } = await service.idp
    .tenant(other)
    .persons.create({ givenName: me, familyName: 'C', user: { userName: `${me}@globex.test`, status: 'active' } });
  account = { oid: found?.person.user.id ?? '', tid: found?.tenant.id ?? '', child: user?.id ?? '' };
  await service.idp.tenant(other).linking.link(account.child, { tid: account.tid, userId: account.oid });
  passTime(0);
});

const isChallenge = (answer: Answer) => titleOf(answer) === 'Confirm that it is you';
/** Signs in by another method, which requires no factor. */
async function byEid(): Promise<Agent> {
  const agent = new Agent();
  upstream.subject = randomUUID();
  await service.idp.tenant(account.tid).users.addIdentity(account.oid, { idp: 'eid', subject: upstream.subject });
  await agent.follow(await agent.get(url({ acr_values: 'idp:eid' })));
  return agent;
}
const request = async (agent: Agent, route: string): Promise<Answer> => {
  const [method = '', path = ''] = route.split(' ');
  const target = `${service.issuer}${path}`;
  const fields = { csrf: 'x', email: 'x@acme.test', unlink: account.child };
  return agent.follow(await (method === 'GET' ? agent.get(`${target}?unlink=${account.child}`) : agent.post(target, fields)));
};

describe('MFA-OLDSESSION', () => {
  test('every page of a person says whether it changes how the account is signed in to', () => {
    const pages = [...found].map((route) => route.split(' ')[1] ?? '').filter((path) => path.startsWith('/idp/') && !elsewhere.test(path));
    const known = [...changing, ...Object.keys(others)];
    expect(pages.filter((path) => !known.some((each) => path === each || path.startsWith(`${each}/`)))).toEqual([]);
    expect(steps().length).toBeGreaterThanOrEqual(12);
  });

  test('a sign-in without the factor is asked for it on each of them, and changes nothing', async () => {
    await enrol(new Agent(), url({ acr_values: 'mfa' }), me, me);
    const agent = await byEid();
    const passed: string[] = [];
    for (const route of steps()) if (!isChallenge(await request(agent, route))) passed.push(route);
    expect(passed).toEqual([]);
    const page = await agent.follow(await agent.get(`${service.issuer}/idp/linked-accounts`));
    expect(isChallenge(await submit(agent, page, { step: 'link' }))).toBe(true);
  });

  test('a user without a factor changes these with any recent sign-in', async () => {
    const agent = await byEid();
    const asked = await Promise.all(steps().map((route) => request(agent, route)));
    expect(asked.filter(isChallenge)).toEqual([]);
  });

  test('a password session from before the factor removes none, and neither does its form', async () => {
    const attacker = new Agent();
    await signIn(attacker, url(), me, me);
    const list = await attacker.follow(await attacker.get(`${service.issuer}/idp/factors`));
    passTime(2);
    await enrol(new Agent(), url({ acr_values: 'mfa' }), me, me);
    expect(titleOf(await attacker.follow(await attacker.get(`${service.issuer}/idp/factors`)))).not.toBe('Second factor and passkeys');
    const { action, fields } = formOf(list);
    expect((await attacker.post(action, { ...fields, add: 'codes' })).status).toBe(303);
    for (const path of ['email', 'linked-accounts/link', 'factors/app'])
      expect(titleOf(await attacker.follow(await attacker.get(`${service.issuer}/idp/${path}`)))).toMatch(
        /Confirm that|Sign in|Enter your/,
      );
  });

  test('the sign-in that added the factor goes on, and a later one in its browser proves it', async () => {
    const agent = new Agent();
    await signIn(agent, url(), me, me);
    const setUp = await agent.follow(await agent.get(`${service.issuer}/idp/factors/app`));
    const [secret = ''] = copied(setUp);
    expect(copied(await submit(agent, setUp, { code: codeOf(secret) }))).toHaveLength(10);
    const list = await agent.get(`${service.issuer}/idp/factors`);
    expect(titleOf(list)).toBe('Second factor and passkeys');
    expect(copied(await submit(agent, list, { add: 'codes' }))).toHaveLength(10);
    expect(titleOf(await agent.get(`${service.issuer}/idp/email`))).toBe('E-mail address');
    passTime(700);
    const again = await agent.follow(await agent.get(`${service.issuer}/idp/factors`));
    expect(isChallenge(await submit(agent, again, { password: me }))).toBe(true);
    backToPresent();
  });
});

describe('MFA-OLDSSO: a first factor ends the sign-ins that were made without one', () => {
  const offline = { scope: 'openid offline_access' };
  const tokensOf = async (agent: Agent) =>
    (await obtainTokens(service.issuer, { agent, userName: me, password: me, ...offline })).tokens.refresh_token as string;
  const isLive = async (token: string) => (await refresh(service.issuer, token)).status === 200;
  const silent = async (agent: Agent) => membersOf(await agent.get(url({ prompt: 'none' })));

  test.each(['on the own page', 'at a sign-in'])('%s: the sign-in that adds it and the grants of its browser go on', async (where) => {
    const [here, elsewhere] = [new Agent(), new Agent()];
    const [own, other] = [await tokensOf(here), await tokensOf(elsewhere)];
    passTime(5);
    const page = await here.follow(
      await here.get(where === 'on the own page' ? `${service.issuer}/idp/factors/app` : url({ acr_values: 'mfa' })),
    );
    expect(page.body).toContain('you are signed out everywhere else.');
    const { secret } = await enrolOn(here, page);
    passTime(65);
    expect(await silent(elsewhere)).toMatchObject({ error: 'login_required' });
    expect([await isLive(own), await isLive(other)]).toEqual([true, false]);
    expect(await silent(here)).toHaveProperty('code');
    // “Sign out everywhere” ends this session like any other session.
    expect(secret).not.toBe('');
    await service.idp.tenant(account.tid).users.signOutEverywhere(account.oid);
    passTime(70);
    expect(await silent(here)).toMatchObject({ error: 'login_required' });
  });

  test('so does the sign-in to a linked account that rests on the same credential', async () => {
    const child = new Agent();
    await signIn(child, url(), `${me}@globex.test`, me);
    expect(await silent(child)).toHaveProperty('code');
    await enrol(new Agent(), url({ acr_values: 'mfa' }), me, me);
    passTime(5);
    expect(await silent(child)).toMatchObject({ error: 'login_required' });
  });

  test('two first factors at the same time, in two browsers: one succeeds, and its browser goes on', async () => {
    const agents = [new Agent(), new Agent()];
    const pages: Answer[] = [];
    for (const agent of agents) {
      await signIn(agent, url(), me, me);
      pages.push(await agent.follow(await agent.get(`${service.issuer}/idp/factors/app`)));
    }
    const answers = await Promise.all(
      agents.map((agent, at) => agent.submit(pages[at] as Answer, { code: codeOf(copied(pages[at] as Answer)[0] ?? '') })),
    );
    expect(answers.filter((answer) => copied(answer).length === 10)).toHaveLength(1);
    passTime(5);
    const going = await Promise.all(agents.map(async (agent) => 'code' in (await silent(agent))));
    expect(going).toEqual(answers.map((answer) => copied(answer).length === 10));
  });
});
