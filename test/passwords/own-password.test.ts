/** A signed-in user changes the password: the required proof, the sign-ins that end, and users who cannot change it here. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { IdpEvent } from 'tenant-idp';
import { captureMail, tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, formOf, obtainTokens, signIn, titleOf } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { introspect, refresh } from '../support/client/steps.js';
import { startIdp } from '../support/service/idp.js';
import { expectQuietLog } from '../support/service/leaks.js';
import { useIdp } from '../support/service/use-idp.js';
import { problemOf, submit } from '../support/sign-in/factors.js';
import { mailTo, NEW_PASSWORD, pkce } from '../support/sign-in/passwords.js';
import { type Upstream, upstreamMethod } from '../support/sign-in/upstream-method.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

const captured = captureMail();
const upstream: Upstream = { subject: '', seen: [] };
const leaked = 'correct horse battery staple';
const service = useIdp({
  mail: captured.mail,
  passwords: { scryptCost: 2 ** 6, leaked: [leaked], weak: (password) => password.startsWith('easy') },
  limits: { signInFailuresPerAddress: 100_000 },
  extensions: [upstreamMethod('eid', upstream)],
});
const heard: IdpEvent[] = [];
let acme = '';
let globex = '';
beforeAll(async () => {
  acme = await tenantNamed(service.idp, 'Acme');
  globex = await tenantNamed(service.idp, 'Globex');
  for (const type of ['UserPasswordChanged', 'UserSignedOut'] as const)
    service.idp.directory.events.on(type, async (event) => void heard.push(event));
});
afterEach(backToPresent);

interface Somebody {
  readonly email: string;
  readonly oid: string;
  readonly tid: string;
}
/** Creates an active user for one test, whose password is `old`. */
async function person(tid = acme): Promise<Somebody> {
  const email = `changer-${randomUUID().slice(0, 8)}@acme.test`;
  const user = { userName: email, emailVerified: true, status: 'active' as const };
  const made = await service.idp.tenant(tid).persons.create({ givenName: 'Cha', familyName: 'Nger', email, user });
  const oid = made.user?.id as string;
  await service.idp.directory.credentials.seedPassword(oid, 'old');
  return { email, oid, tid };
}
const at = (path: string): string => service.issuer + path;
const page = '/idp/account/password';
const begin = (parameters: Record<string, string> = {}): string => authorizeUrl(service.issuer, { ...pkce, ...parameters });
const silent = async (agent: Agent) => membersOf(await agent.get(begin({ prompt: 'none' })));
const signedIn = async ({ email }: Somebody, password = 'old', agent = new Agent()): Promise<Agent> => {
  await signIn(agent, begin(), email, password);
  return agent;
};
const signsIn = async (who: Somebody, password: string): Promise<boolean> => 'code' in (await silent(await signedIn(who, password)));
const open = async (agent: Agent): Promise<Answer> => agent.follow(await agent.get(at(page)));
/** Posts the form as a browser does, with the box ticked. */
const change = async (agent: Agent, form: Answer, fields: Record<string, string>): Promise<Answer> =>
  agent.submit(form, { current: 'old', password: NEW_PASSWORD, others: 'yes', ...fields });
const eventsOf = ({ oid }: Somebody) => heard.filter(({ data }) => data.AggregateId === oid).map(({ type, actor }) => [type, actor]);
/** Signs in by an e-ID, which needs no password. */
async function byEid({ oid, tid }: Somebody): Promise<Agent> {
  const agent = new Agent();
  upstream.subject = randomUUID();
  await service.idp.tenant(tid).users.addIdentity(oid, { idp: 'eid', subject: upstream.subject });
  await agent.follow(await agent.get(begin({ acr_values: 'idp:eid' })));
  return agent;
}

describe('the page', () => {
  test('asks for a sign-in, and then for both passwords, as password managers read them', async () => {
    const who = await person();
    const agent = new Agent();
    const named = await submit(agent, await open(agent), { identifier: who.email });
    const form = await submit(agent, named, { password: 'old' });
    expect([form.status, form.url, titleOf(form)]).toEqual([200, at(page), 'Password']);
    for (const input of [/name="current"[^>]*autocomplete="current-password"/, /name="password"[^>]*autocomplete="new-password"/])
      expect(form.body).toMatch(input);
    expect(form.body).toMatch(new RegExp(`value="${who.email}"[^>]*autocomplete="username"`));
    expect(form.body).toMatch(/name="others" value="yes" checked/);
    const account = await agent.get(at('/idp/account'));
    expect(account.body).toContain(`href="${at(page)}"`);
  });

  test('with the tick, the other browsers and their tokens end before the answer; this browser and its applications go on', async () => {
    const who = await person();
    const offline = { userName: who.email, password: 'old', scope: 'openid offline_access' };
    const here = await obtainTokens(service.issuer, offline);
    const elsewhere = await obtainTokens(service.issuer, offline);
    passTime(2);
    const done = await change(here.agent, await open(here.agent), {});
    expect([done.status, titleOf(done)]).toEqual([200, 'Your password is changed']);
    expect(done.body).toContain('You are signed out everywhere else.');
    const isLive = async (token: string): Promise<unknown> => (await introspect(service.issuer, token)).json.active;
    expect([await isLive(here.tokens.access_token), await isLive(elsewhere.tokens.access_token)]).toEqual([true, false]);
    expect((await refresh(service.issuer, elsewhere.tokens.refresh_token)).json.error).toBe('invalid_grant');
    expect((await refresh(service.issuer, here.tokens.refresh_token)).status).toBe(200);
    expect([await silent(here.agent), await silent(elsewhere.agent)]).toMatchObject([{}, { error: 'login_required' }]);
    expect(await silent(here.agent)).toHaveProperty('code');
    passTime(4);
    expect([await signsIn(who, NEW_PASSWORD), await signsIn(who, 'old')]).toEqual([true, false]);
    await until(() => eventsOf(who).length === 2);
    expect(eventsOf(who).toSorted()).toEqual([
      ['UserPasswordChanged', `user:${who.oid}`],
      ['UserSignedOut', `user:${who.oid}`],
    ]);
    const mail = await mailTo(captured, who.email, 'account-changed');
    expect([mail.subject, mail.text.includes(who.email)]).toEqual(['Your password was changed', false]);
  });

  test('without the tick, no session ends, and a second change spares the same browser', async () => {
    const who = await person();
    const [here, elsewhere] = [await signedIn(who), await signedIn(who)];
    const done = await change(here, await open(here), { others: 'no' });
    expect(done.body).toContain('You stay signed in where you were signed in.');
    expect([await silent(here), await silent(elsewhere)].map((members) => 'code' in members)).toEqual([true, true]);
    passTime(2);
    for (const [current, password] of [
      [NEW_PASSWORD, 'one more password to choose'],
      ['one more password to choose', 'and the last one of the evening'],
    ] as const)
      expect((await change(here, await open(here), { current, password })).status).toBe(200);
    expect([await silent(here), await silent(elsewhere)].map((members) => 'code' in members)).toEqual([true, false]);
    await until(() => eventsOf(who).length === 5);
  });

  test('a change of address that was asked for with the former password ends, with and without the tick', async () => {
    for (const others of ['yes', 'no']) {
      const who = await person();
      const agent = await signedIn(who);
      const wanted = `new-${who.email}`;
      await agent.submit(await agent.follow(await agent.get(at('/idp/email'))), { email: wanted });
      const link = /https?:\S+\/email\/\S+/.exec((await mailTo(captured, wanted, 'email-proof')).text)?.[0] ?? '';
      passTime(2);
      await change(agent, await open(agent), { others });
      expect(titleOf(await agent.get(link))).toBe('This change was stopped');
      backToPresent();
    }
  });

  test.each([
    ['no current password', { current: '' }, 'Enter your current password.'],
    ['no new password', { password: '' }, 'Choose a password.'],
    ['a wrong current password', { current: 'wrong' }, 'That is not your current password.'],
    ['a short password', { password: 'short' }, 'Choose a password of 15 to 128 characters.'],
    ['an easy password', { password: 'easy enough to guess' }, 'That password is easy to guess. Choose another one.'],
    ['a leaked password', { password: leaked }, 'That password is known from a leak. Choose another one.'],
  ])('%s: says so beside the field, and keeps the tick as it was', async (_, fields, problem) => {
    const who = await person();
    const agent = await signedIn(who);
    const form = await open(agent);
    const ticked = await change(agent, form, fields);
    expect([ticked.status, problemOf(ticked), ticked.body.includes('value="yes" checked')]).toEqual([400, problem, true]);
    const { action, fields: own } = formOf(form);
    const unticked = await agent.post(action, { csrf: own.csrf ?? '', current: 'old', password: NEW_PASSWORD, ...fields });
    expect([unticked.status, unticked.body.includes('value="yes" checked')]).toEqual([400, false]);
    expect(await signsIn(who, 'old')).toBe(true);
    expect(eventsOf(who)).toEqual([]);
  });

  test('the same password again is refused, however it is composed', async () => {
    const who = await person();
    const agent = await signedIn(who);
    const composed = 'le mot de passe privé';
    await change(agent, await open(agent), { password: composed, others: 'no' });
    const again = await change(agent, await open(agent), { current: composed, password: composed.normalize('NFD') });
    expect([again.status, problemOf(again)]).toEqual([400, 'That is your password already. Choose another one.']);
  });

  test('the user name is no password', async () => {
    const who = await person();
    const agent = await signedIn(who);
    const again = await change(agent, await open(agent), { password: who.email.toUpperCase() });
    expect([again.status, problemOf(again)]).toEqual([400, 'Choose a password that is not your user name.']);
  });
});

describe('guesses of the current password', () => {
  test('are limited in each session, whatever is right; another session of the user has its own limit', async () => {
    const who = await person();
    const [thief, owner] = [await signedIn(who), await signedIn(who)];
    const form = await open(thief);
    for (let guess = 0; guess < 10; guess += 1) expect((await change(thief, form, { current: `guess ${guess}` })).status).toBe(400);
    const refused = await change(thief, form, {});
    expect([refused.status, problemOf(refused)]).toEqual([429, expect.stringMatching(/^Too many attempts\. Try again in \d+ min\.$/)]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(titleOf(await change(owner, await open(owner), {}))).toBe('Your password is changed');
  });

  test('a right one gives the guesses of the session back, even if the new password is refused', async () => {
    const who = await person();
    const agent = await signedIn(who);
    const form = await open(agent);
    for (let round = 0; round < 2; round += 1) {
      for (let guess = 0; guess < 9; guess += 1) expect((await change(agent, form, { current: `${round} ${guess}` })).status).toBe(400);
      expect((await change(agent, form, { password: `short ${round}` })).status).toBe(400);
    }
    expect((await change(agent, form, {})).status).toBe(200);
  });
});

describe('two tabs, and forms that are sent twice', () => {
  test('the same form twice changes the password once, with the same answer', async () => {
    const who = await person();
    const agent = await signedIn(who);
    const form = await open(agent);
    const answers = await Promise.all([1, 2, 3].map(() => change(agent, form, {})));
    expect(answers.map(titleOf)).toEqual(answers.map(() => 'Your password is changed'));
    await until(() => eventsOf(who).length >= 2);
    expect(eventsOf(who)).toHaveLength(2);
  });

  test('two tabs with different passwords: one is the password, and the other tab says that it changed nothing', async () => {
    const who = await person();
    const agent = await signedIn(who);
    const tabs = [await open(agent), await open(agent)];
    const wanted = ['the password of the first tab', 'the password of the second tab'];
    const answers = await Promise.all(tabs.map((tab, index) => change(agent, tab, { password: wanted[index] ?? '', others: 'no' })));
    const changed = answers.map((answer) => titleOf(answer) === 'Your password is changed');
    expect(changed.toSorted()).toEqual([false, true]);
    // The second change is too late for the comparison of the former password, or for the write.
    expect([400, 409]).toContain(answers[changed.indexOf(false)]?.status);
    expect(await Promise.all(wanted.map((password) => signsIn(who, password)))).toEqual(changed);
    expect(await signsIn(who, 'old')).toBe(false);
  });

  test('a reset that comes between the comparison and the write wins', async () => {
    const who = await person();
    const { accounts, ownPasswords, passwordResets } = service.idp.directory;
    const account = await accounts.findByOid(who.oid);
    if (!account) throw new Error('no account');
    expect(await ownPasswords.isCurrent(account, 'old')).toBe(true);
    const due = await passwordResets.begin(who.oid, { requestId: randomUUID() });
    const ref = passwordResets.read((typeof due === 'object' ? due.url : '').split('/').at(-1) ?? '');
    if (!ref) throw new Error('no link');
    await passwordResets.accept(ref, NEW_PASSWORD);
    const attempt = { password: 'the password of a thief', current: 'old', vouchedBy: undefined, by: {} };
    expect(await ownPasswords.change(account, attempt)).toBe(false);
    passTime(2);
    expect(await signsIn(who, NEW_PASSWORD)).toBe(true);
  });

  test('a reset link that was mailed before the change no longer works', async () => {
    const who = await person();
    const { accounts, ownPasswords, passwordResets } = service.idp.directory;
    const due = await passwordResets.begin(who.oid, { requestId: randomUUID() });
    const ref = passwordResets.read((typeof due === 'object' ? due.url : '').split('/').at(-1) ?? '');
    const account = await accounts.findByOid(who.oid);
    if (!ref || !account) throw new Error('no link or no account');
    expect(await ownPasswords.change(account, { password: NEW_PASSWORD, current: 'old', vouchedBy: undefined, by: {} })).toBe(true);
    await expect(passwordResets.accept(ref, 'the password of a thief')).rejects.toThrow();
    passTime(2);
    expect(await signsIn(who, NEW_PASSWORD)).toBe(true);
  });
});

describe('users who have no password of their own', () => {
  test('a user without a password sets one, within ten minutes of a sign-in; then the page asks for it', async () => {
    const who = await person();
    await service.idp.directory.credentials.forget(who.oid);
    const agent = await byEid(who);
    const form = await open(agent);
    expect([titleOf(form), form.body.includes('name="current"')]).toEqual(['Choose a password', false]);
    passTime(700);
    expect((await change(agent, form, {})).location).toContain('/connect/authorize');
    backToPresent();
    expect(titleOf(await change(agent, form, { others: 'no' }))).toBe('Your password is changed');
    expect(titleOf(await open(agent))).toBe('Password');
    // The earlier form has no field for the current password.
    expect(problemOf(await change(agent, form, { current: '', password: 'yet another password' }))).toBe('Enter your current password.');
    expect(await signsIn(who, NEW_PASSWORD)).toBe(true);
  });

  test('a linked child account reads where its password is changed, and changes nothing', async () => {
    const [parent, child] = [await person(), await person(globex)];
    const before = await signedIn(child);
    const form = await open(before);
    await service.idp.tenant(globex).linking.link(child.oid, { tid: acme, userId: parent.oid });
    passTime(2);
    expect((await change(before, form, {})).status).not.toBe(200);
    const agent = new Agent();
    await signIn(agent, begin({ acr_values: `tenant:${globex}` }), child.email, 'old');
    const shown = await open(agent);
    expect([shown.status, shown.body.includes(parent.email), shown.body.includes('<input')]).toEqual([200, true, false]);
    expect((await agent.get(at('/idp/account'))).body).not.toContain(at(page));
    await change(agent, { ...form, url: shown.url }, {});
    expect([...eventsOf(parent), ...eventsOf(child)].filter(([type]) => type === 'UserPasswordChanged')).toEqual([]);
  });

  test('where the organisation allows no passwords, the page says so, and changes nothing', async () => {
    const tenant = await service.idp.directory.tenants.create({ name: `E-ID ${randomUUID()}` });
    const who = await person(tenant.id);
    const agent = await byEid(who);
    const form = await open(agent);
    await service.idp.directory.tenants.update(tenant.id, { signIn: { methods: ['eid'] } });
    const shown = await open(agent);
    expect([shown.status, shown.body.includes('allows no passwords'), shown.body.includes('name="password"')]).toEqual([200, true, false]);
    expect((await agent.get(at('/idp/account'))).body).not.toContain(at(page));
    expect((await change(agent, form, {})).body).toContain('allows no passwords');
    expect(eventsOf(who)).toEqual([]);
  });

  test('a user who is disabled meanwhile changes nothing', async () => {
    const who = await person();
    const agent = await signedIn(who);
    const form = await open(agent);
    await service.idp.tenant(acme).users.disable(who.oid);
    const answer = await change(agent, form, {});
    expect([303, 403]).toContain(answer.status);
    expect(eventsOf(who).filter(([type]) => type === 'UserPasswordChanged')).toEqual([]);
  });

  test('G1: a form of another site, of another browser, and without its token changes nothing', async () => {
    const who = await person();
    const agent = await signedIn(who);
    const form = await open(agent);
    const { action, fields } = formOf(form);
    const all = { ...fields, current: 'old', password: NEW_PASSWORD };
    const foreign = { origin: 'https://evil.test', 'sec-fetch-site': 'cross-site' };
    expect((await agent.post(action, all, foreign)).status).toBe(403);
    expect((await agent.post(action, { ...all, csrf: 'x' })).status).toBe(403);
    expect((await new Agent().post(action, all)).status).toBe(403);
    expect((await (await signedIn(await person())).post(action, all)).status).toBe(403);
    expect(await signsIn(who, 'old')).toBe(true);
  });
});

describe('RFC 8615: /.well-known/change-password', () => {
  const wellKnown = (issuer: string, name = 'change-password') => fetch(`${issuer}/.well-known/${name}`, { redirect: 'manual' });

  test('leads to the page, at an issuer without a path', async () => {
    const answer = await wellKnown(service.issuer);
    expect([answer.status, answer.headers.get('location')]).toEqual([302, at(page)]);
    const agent = new Agent();
    expect((await agent.follow(await agent.get(at('/.well-known/change-password')))).url).toContain('/interaction/');
  });

  test('a well-known resource that does not exist is not found, so that the other answer means something', async () => {
    const name = 'resource-that-should-not-exist-whose-status-code-should-not-be-200';
    expect((await wellKnown(service.issuer, name)).status).toBe(404);
  });

  test.each([
    ['with `paths.changePassword: false`', { paths: { changePassword: false } }],
    ['at an issuer with a path', { path: '/login' }],
  ])('does not exist %s', async (_, options) => {
    const idp = await startIdp(options);
    try {
      expect((await wellKnown(idp.issuer)).status).toBe(404);
      expect((await wellKnown(new URL(idp.issuer).origin)).status).toBe(404);
    } finally {
      await idp.close();
    }
  });
});

test('design §6: nothing here was an error of the service', () => expectQuietLog(service));
