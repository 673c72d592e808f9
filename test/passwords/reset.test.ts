/** Service specification 4.2 and issue 14: forgotten passwords, as a browser without JavaScript gets them. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { captureMail, invite, invitingSeed, tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, formOf, obtainTokens, signIn, titleOf } from '../support/client/agent.js';
import { isActive } from '../support/client/steps.js';
import { startIdp } from '../support/service/idp.js';
import { expectQuietLog } from '../support/service/leaks.js';
import { useIdp } from '../support/service/use-idp.js';
import { codeOf, enrol, problemOf, submit } from '../support/sign-in/factors.js';
import { forget, IN_ENGLISH, linkIn, mailTo, NEW_PASSWORD, passwordPage, pkce, pressForgotten } from '../support/sign-in/passwords.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

const captured = captureMail();
const leaked = 'this password was leaked before';
const store = memoryDirectory();
const service = useIdp({
  directory: store,
  seed: invitingSeed as never,
  mail: captured.mail,
  limits: { signInFailuresPerAddress: 100_000, signInFailures: 100 },
  passwords: { scryptCost: 2 ** 6, weak: (password) => new Set(password).size < 4, leaked: [leaked] },
});

afterEach(backToPresent);

let count = 0;
/** Creates an active user with a password, for one test. */
async function person(tenant = 'Acme', more: Record<string, unknown> = {}) {
  count += 1;
  const userName = `forgetful-${count}@acme.test`;
  const tid = await tenantNamed(service.idp, tenant);
  const user = { userName, status: 'active' as const, ...more };
  const made = await service.idp.tenant(tid).persons.create({ givenName: 'Fred', familyName: 'Forgot', email: userName, user });
  const oid = made.user?.id as string;
  await service.idp.directory.credentials.seedPassword(oid, 'old');
  return { userName, tid, oid, personId: made.id };
}
const link = async (userName: string, seen = 0): Promise<string> => linkIn(await mailTo(captured, userName, 'password-reset', seen));
const signsIn = async (userName: string, password: string): Promise<boolean> =>
  (await signIn(new Agent(), authorizeUrl(service.issuer, pkce), userName, password)).location?.includes('code=') ?? false;
const reset = async (url: string, agent = new Agent(), password = NEW_PASSWORD): Promise<Answer> =>
  agent.follow(await agent.submit(await agent.get(url), { password }));

describe('14.4 forgotten password', () => {
  test('the link is mailed, sets a password, and leads back to the sign-in that it began in', async () => {
    const { userName } = await person();
    const agent = new Agent();
    const page = await pressForgotten(agent, await passwordPage(service.issuer, agent, userName));
    expect([page.status, titleOf(page), formOf(page).fields.identifier]).toEqual([200, 'Forgotten password?', userName]);
    const sent = await agent.submit(page, {});
    expect([sent.status, titleOf(sent)]).toEqual([200, 'Check your e-mail']);
    expect(sent.body).toContain(`If ${userName} has an account, we’ve sent a link.`);
    const url = await link(userName);
    const done = await reset(url, agent);
    expect([done.status, titleOf(done)]).toEqual([200, 'Your password is changed']);
    const back = /<a class="button" href="([^"]+)"/.exec(done.body)?.[1] ?? '';
    const again = await agent.follow(await agent.get(back));
    const second = await agent.submit(again, { identifier: userName });
    expect((await agent.follow(await agent.submit(second, { password: NEW_PASSWORD }))).location).toContain('code=');
    expect(await signsIn(userName, 'old')).toBe(false);
  });

  test('the mail is in the language of the page that it was asked for on', async () => {
    const { userName } = await person();
    await forget(service.issuer, userName, new Agent({ 'accept-language': 'fr, nb;q=0.8' }));
    expect((await mailTo(captured, userName, 'password-reset')).locale).toBe('nb');
    await forget(service.issuer, userName, new Agent({ 'accept-language': 'nb' }), { ui_locales: 'sv' });
    expect((await mailTo(captured, userName, 'password-reset', 1)).locale).toBe('sv');
    // A language from the menu of a page applies to the rest of the sign-in, including its mails.
    const agent = new Agent({ 'accept-language': 'nb' });
    const first = await agent.follow(await agent.get(authorizeUrl(service.issuer, { ...pkce, ui_locales: 'sv' })));
    const [, menu = ''] = /<a[^>]* href="([^"]*ui_locales=de)"/.exec(first.body) ?? [];
    const german = await agent.get(new URL(menu.replaceAll('&amp;', '&'), first.url).href);
    const page = await pressForgotten(agent, await agent.submit(german, { identifier: userName }));
    expect([titleOf(german), titleOf(page)]).toEqual(['Bei Web shop anmelden', 'Passwort vergessen?']);
    await agent.submit(page, {});
    expect((await mailTo(captured, userName, 'password-reset', 2)).locale).toBe('de');
  });

  test('of a tenant whose language is none of the service, times are in that of the mail', async () => {
    const { userName, tid } = await person();
    await service.idp.directory.tenants.update(tid, { locale: 'fr' });
    await forget(service.issuer, userName, new Agent());
    const { locale, text } = await mailTo(captured, userName, 'password-reset');
    expect([locale, text]).toEqual(['en', expect.stringMatching(IN_ENGLISH)]);
    await service.idp.directory.tenants.update(tid, { locale: null });
  });

  test('4.2 `mfa`: a reset does not sign in past a second factor', async () => {
    const { userName, oid } = await person();
    const { secret } = await enrol(new Agent(), authorizeUrl(service.issuer, { ...pkce, acr_values: 'mfa' }), userName, 'old');
    const factors = async () =>
      (await store.collection<{ id: string; version: number; userId?: string }>('factors.enrolled').find({}))
        .filter(({ userId }) => userId === oid)
        .map(({ id, version }) => `${id} ${version}`);
    const before = await factors();
    await forget(service.issuer, userName);
    const resetting = new Agent();
    await reset(await link(userName), resetting);
    // A reset removes no factor, and signs nobody in.
    expect([before.length, await factors()]).toEqual([2, before]);
    expect((await resetting.get(authorizeUrl(service.issuer, { ...pkce, prompt: 'none' }))).location).toContain('error=login_required');
    expect(titleOf(await resetting.follow(await resetting.get(`${service.issuer}/idp/factors`)))).toMatch(/^Sign in/);
    const requests: readonly Record<string, string>[] = [{}, { acr_values: 'mfa' }];
    for (const [index, more] of requests.entries()) {
      passTime(60 * (index + 1));
      const agent = new Agent();
      const asked = await signIn(agent, authorizeUrl(service.issuer, { ...pkce, ...more }), userName, NEW_PASSWORD);
      expect([asked.location, titleOf(asked)]).toEqual([undefined, 'Confirm that it is you']);
      const silent = await agent.get(authorizeUrl(service.issuer, { ...pkce, prompt: 'none' }));
      expect(silent.location).not.toContain('code=');
      const done = await submit(agent, asked, { code: codeOf(secret) });
      expect([problemOf(done), done.location]).toEqual(['', expect.stringContaining('code=')]);
    }
  });

  test('after a reset all sessions and tokens of the user end, and those of linked users', async () => {
    const { userName, oid, tid } = await person();
    const globex = await tenantNamed(service.idp, 'Globex');
    const child = await service.idp.tenant(globex).persons.create({
      givenName: 'Fred',
      familyName: 'Child',
      email: `child-${userName}`,
      user: { userName: `child-${userName}`, status: 'active' },
    });
    await service.idp.tenant(globex).linking.link(child.user?.id as string, { tid, userId: oid });
    const [own, linked] = await Promise.all(
      [userName, `child-${userName}`].map(async (name) => obtainTokens(service.issuer, { userName: name, password: 'old' })),
    );
    const tokens = [own?.tokens.access_token, linked?.tokens.access_token];
    expect(await Promise.all(tokens.map((token) => isActive(service.issuer, token)))).toEqual([true, true]);
    // Users without a password of their own reset the password of the parent account, at the address of the parent account.
    await forget(service.issuer, `child-${userName}`);
    await reset(await link(userName));
    expect(await Promise.all(tokens.map((token) => isActive(service.issuer, token)))).toEqual([false, false]);
    expect(captured.mails.filter(({ to, kind }) => to === `child-${userName}` && kind === 'password-reset')).toEqual([]);
    expect(await Promise.all([userName, `child-${userName}`].map((name) => signsIn(name, NEW_PASSWORD)))).toEqual([true, true]);
  });

  test('GET never consumes, and HEAD neither', async () => {
    const { userName } = await person();
    await forget(service.issuer, userName);
    const url = await link(userName);
    for (let times = 0; times < 3; times += 1) {
      expect((await new Agent().get(url)).status).toBe(200);
      expect((await new Agent().request(url, { method: 'HEAD' })).status).toBe(200);
    }
    expect(titleOf(await reset(url))).toBe('Your password is changed');
  });

  test('the newest link alone holds', async () => {
    const { userName } = await person();
    await forget(service.issuer, userName);
    const first = await link(userName);
    await forget(service.issuer, userName);
    const second = await link(userName, 1);
    expect([(await new Agent().get(first)).status, titleOf(await new Agent().get(first))]).toEqual([410, 'There is a newer link']);
    expect(titleOf(await reset(second))).toBe('Your password is changed');
  });

  test('it is good once: twenty at the same time set one password; the form sent twice is answered like the first', async () => {
    const { userName } = await person();
    await forget(service.issuer, userName);
    const url = await link(userName);
    const agents = Array.from({ length: 20 }, () => new Agent());
    const pages = await Promise.all(agents.map((agent) => agent.get(url)));
    const answers = await Promise.all(
      agents.map((agent, index) => agent.submit(pages[index] as Answer, { password: `password of number ${index}` })),
    );
    const winners = answers.flatMap(({ status }, index) => (status === 303 ? [index] : []));
    expect([winners.length, answers.filter(({ status }) => status === 410).length]).toEqual([1, 19]);
    expect(await signsIn(userName, `password of number ${winners[0]}`)).toBe(true);
    const [winner = 0] = winners;
    const repeated = await agents[winner]?.follow(
      await (agents[winner] as Agent).submit(pages[winner] as Answer, { password: NEW_PASSWORD }),
    );
    expect(repeated && titleOf(repeated)).toBe('Your password is changed');
    expect(titleOf(await new Agent().get(url))).toBe('This link was used');
    expect(await signsIn(userName, NEW_PASSWORD)).toBe(false);
  });

  test('a link that has expired says so, and sends another one', async () => {
    const { userName } = await person();
    await forget(service.issuer, userName);
    const url = await link(userName);
    passTime(3_601);
    const agent = new Agent();
    const page = await agent.get(url);
    expect([page.status, titleOf(page)]).toEqual([410, 'This link has expired']);
    expect(titleOf(await agent.submit(page, {}))).toBe('Check your e-mail');
    expect(titleOf(await reset(await link(userName, 1)))).toBe('Your password is changed');
  });

  test.each([
    ['x'.repeat(14), 'Choose a password of 15 to 128 characters.'],
    ['', 'Choose a password.'],
    ['xxxxxxxxxxxxxxxxxxxxxx', 'That password is easy to guess. Choose another one.'],
    [leaked.toUpperCase(), 'That password is known from a leak. Choose another one.'],
  ])('weak or breached: %p is refused at the field, and the link still works', async (password, words) => {
    const { userName } = await person();
    await forget(service.issuer, userName);
    const url = await link(userName);
    const agent = new Agent();
    const page = await agent.submit(await agent.get(url), { password });
    expect([page.status, page.body.includes(words), page.body.includes('aria-invalid="true"')]).toEqual([400, true, true]);
    expect(titleOf(await reset(url, agent))).toBe('Your password is changed');
  });

  test('a wrong link is not one that took too long', async () => {
    const { userName } = await person();
    await forget(service.issuer, userName);
    const url = await link(userName);
    const wrong = [`${url}x`, url.slice(0, -1), url.replace(/\.\d+\.(?=[\w-]+$)/, '.2.'), `${service.issuer}/idp/password/nonsense`];
    for (const each of wrong) {
      const page = await new Agent().get(each);
      expect([page.status, titleOf(page)]).toEqual([404, 'This link does not work']);
    }
  });

  test('G1 a form of another browser, or without its token, changes nothing', async () => {
    const { userName } = await person();
    await forget(service.issuer, userName);
    const url = await link(userName);
    const page = await new Agent().get(url);
    expect((await new Agent().submit(page, { password: NEW_PASSWORD })).status).toBe(403);
    expect((await new Agent().post(url, { password: NEW_PASSWORD })).status).toBe(403);
    expect(await signsIn(userName, 'old')).toBe(true);
  });

  test('a link to the address that is the user name verifies the address; one from before a change of address is void', async () => {
    const { userName, tid, oid, personId } = await person();
    await forget(service.issuer, userName);
    const before = await link(userName);
    await service.idp.tenant(tid).persons.update(personId, { email: `moved-${userName}` });
    expect((await new Agent().get(before)).status).toBe(410);
    await service.idp.tenant(tid).persons.update(personId, { email: userName });
    await forget(service.issuer, userName);
    await reset(await link(userName, 1));
    expect((await service.idp.tenant(tid).users.require(oid)).user.emailVerified).toBe(true);
  });

  test('G11 no address comes from a request', async () => {
    const { userName } = await person();
    const evil = 'https://evil.test/';
    await forget(service.issuer, userName);
    const agent = new Agent();
    const url = await link(userName);
    const page = await agent.get(`${url}?returnTo=${evil}&uid=x&client_uri=${evil}`);
    const answer = await agent.follow(await agent.submit(page, { password: NEW_PASSWORD, returnTo: evil, uid: evil, clientId: evil }));
    expect(answer.body).not.toContain('evil.test');
  });

  test('the change is told by mail, and by the event UserPasswordChanged', async () => {
    const { userName, oid } = await person();
    await forget(service.issuer, userName);
    await reset(await link(userName));
    const notice = await mailTo(captured, userName, 'account-changed');
    expect(notice.subject).toBe('Your password was changed');
    const { events } = await service.idp.directory.eventFeed.read({ types: ['UserPasswordChanged'], limit: 1000 });
    expect(events.filter(({ subject }) => subject === oid)).toHaveLength(1);
  });

  test('the mail speaks the language and has the look of the sign-in', async () => {
    const { userName } = await person();
    await forget(service.issuer, userName, new Agent(), { ui_locales: 'nb' });
    const mail = await mailTo(captured, userName, 'password-reset');
    expect([mail.locale, mail.clientId, mail.subject]).toEqual(['nb', 'web', 'Velg et nytt passord']);
    expect(mail.html).toContain('Web shop');
  });
});

describe('14.4 nobody else gets a link', () => {
  const cases: readonly (readonly [string, () => Promise<string>])[] = [
    ['invited', async () => (await invite(service.idp)).userName],
    [
      'disabled',
      async () => {
        const { userName, tid, oid } = await person();
        await service.idp.tenant(tid).users.disable(oid);
        return userName;
      },
    ],
    [
      'without a password',
      async () => {
        const { userName, oid } = await person();
        await service.idp.directory.credentials.forget(oid);
        return userName;
      },
    ],
    ['unknown', async () => 'nobody@acme.test'],
  ];

  test('G2 the page is the same, byte by byte, and no mail goes out', async () => {
    const { userName: known } = await person();
    const names = [known, ...(await Promise.all(cases.map(async ([, make]) => make())))];
    const bodies: string[] = [];
    for (const name of names) {
      const answer = await forget(service.issuer, name);
      expect(answer.status).toBe(200);
      const uid = /interaction\/([\w-]+)/.exec(answer.body)?.[1] ?? '';
      bodies.push(answer.body.replaceAll(name, 'NAME').replaceAll(uid, 'UID'));
    }
    expect(new Set(bodies).size).toBe(1);
    await link(known);
    // Wait until the service has looked up all names.
    await until(
      () => store.collection('deliveries').find({ byState: ['waiting'] }),
      (waiting) => waiting.length === 0,
    );
    for (const name of names.slice(1))
      expect(captured.mails.filter(({ to, kind }) => to === name && kind === 'password-reset')).toEqual([]);
  });
});

test('G3 the form is counted like sign-ins: of 200 at once ten are looked up, and one user gets three links', async () => {
  const { userName, oid } = await person();
  const agent = new Agent();
  const page = await pressForgotten(agent, await passwordPage(service.issuer, agent, userName));
  const answers = await Promise.all(Array.from({ length: 200 }, (_, each) => agent.submit(page, { each: `${each}` })));
  const statuses = answers.map(({ status }) => status);
  expect([statuses.filter((status) => status === 200).length, statuses.filter((status) => status === 429).length]).toEqual([100, 100]);
  expect(answers.find(({ status }) => status === 429)?.headers.get('retry-after')).toMatch(/^\d+$/);
  const serialOf = async () => (await service.idp.directory.accounts.findByOid(oid))?.person.user.passwordReset?.serial;
  await until(serialOf, (serial) => serial === 3);
  expect(captured.mails.filter(({ to }) => to === userName).length).toBeLessThanOrEqual(3);
});

test('without the option mail there is no link', async () => {
  const bare = await startIdp();
  try {
    const agent = new Agent();
    const page = await passwordPage(bare.issuer, agent, 'alice@acme.test');
    expect([formOf(page).fields.identifier, page.body.includes('forgotten')]).toEqual(['alice@acme.test', false]);
    expect((await agent.get(formOf(page).action.replace(/password$/, 'forgotten'))).status).toBe(404);
  } finally {
    await bare.close();
  }
});

test('design §6: nothing here was an error of the service', () => expectQuietLog(service));
