/** Issue 46: mails about sessions and access that the user or another person ended. */
import { createHash } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { MailMessage } from 'tenant-idp';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { captureMail, tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, obtainTokens, titleOf } from '../support/client/agent.js';
import { testSeed } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';
import { allow } from '../support/sign-in/consents.js';
import { NEW_PASSWORD } from '../support/sign-in/passwords.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

const captured = captureMail();
const store = memoryDirectory();
const service = useIdp({
  directory: store,
  mail: captured.mail,
  signInHistory: { notify: false },
  limits: { signInFailuresPerAddress: 100_000 },
  seed: testSeed,
});
let tid: string;
beforeAll(async () => {
  tid = await tenantNamed(service.idp, 'Acme');
});
afterEach(backToPresent);

let count = 0;
async function somebody(locale?: string) {
  count += 1;
  const email = `ending-${count}@mail.test`;
  const { user } = await service.idp.tenant(tid).persons.create({
    givenName: 'Evil https://evil.test',
    familyName: 'Typed',
    email,
    ...(locale && { locale }),
    user: { userName: email, status: 'active' },
  });
  const oid = user?.id ?? '';
  await service.idp.directory.credentials.seedPassword(oid, 'old');
  return { email, oid, ref: { tid, userId: oid } };
}
type Somebody = Awaited<ReturnType<typeof somebody>>;

const mailsOf = ({ email }: Somebody): readonly MailMessage[] => captured.mails.filter(({ to }) => to === email);
const subjectsOf = (me: Somebody): readonly string[] => mailsOf(me).map(({ subject }) => subject);
/** Waits until no event and no delivery waits. */
const allSent = () =>
  until(async () => {
    const events = await Promise.all(['persons', 'accountEvents'].map((name) => store.collection(name).find({ byOutbox: ['yes'] })));
    return [...events.flat(), ...(await store.collection('deliveries').find({ byState: ['waiting'] }))].length === 0;
  });

async function signedIn(me: Somebody, headers: Record<string, string> = {}): Promise<Agent> {
  const agent = new Agent(headers);
  const page = await agent.follow(await agent.get(at('sessions')));
  const asked = await agent.submit(page, { identifier: me.email });
  expect(titleOf(await agent.follow(await agent.submit(asked, { password: 'old' })))).toBe('Sessions');
  return agent;
}
const at = (section: string): string => `${service.issuer}/idp/account/${section}`;
const opened = async (agent: Agent, section: string): Promise<Answer> => agent.follow(await agent.get(at(section)));
const nameOf = (client: string): string => createHash('sha256').update(client).digest('base64url');
const press = async (agent: Agent, client: string): Promise<Answer> =>
  agent.follow(await agent.submit(await opened(agent, `applications/${nameOf(client)}`), { end: nameOf(client) }));

describe('a mail in the language of the person', () => {
  test('names the application whose access its user withdrew, by the name that the operator gave', async () => {
    const me = await somebody('de');
    const { agent } = await allow(service.issuer, { userName: me.email, password: 'old' });
    await press(agent, 'third-party');
    await until(() => mailsOf(me).length === 1);
    const [{ subject, text, locale, kind, html }] = mailsOf(me) as [MailMessage];
    expect([subject, locale, kind]).toEqual(['Zugriff auf Ihr Konto wurde widerrufen', 'de', 'account-changed']);
    expect(text).toContain('Third party hat keinen Zugriff mehr auf Ihr Konto bei Acme.');
    expect(text).toMatch(/Beendet am .+ \(UTC\)/);
    for (const typed of ['evil.test', 'Typed', me.email]) expect(text + html).not.toContain(typed);
  });

  test('names the application of “Sign out there”', async () => {
    const me = await somebody('fi');
    const { agent } = await allow(service.issuer, { client: 'web', userName: me.email, password: 'old', scope: 'openid' });
    await press(agent, 'web');
    await until(() => mailsOf(me).length === 1);
    expect(mailsOf(me)[0]).toMatchObject({ locale: 'fi', subject: 'Sinut kirjattiin ulos sovelluksesta' });
    expect(mailsOf(me)[0]?.text).toContain('Web shop');
  });

  test('tells of a session that its user ended, once; and once of all others, however many', async () => {
    const me = await somebody();
    const [mine] = [await signedIn(me), await signedIn(me), await signedIn(me), await signedIn(me)];
    const page = await opened(mine, 'sessions');
    const [first = '', second = ''] = [...page.body.matchAll(/name="session" value="([^"]+)"/g)].map(([, id]) => id ?? '').slice(1);
    expect(second).not.toBe('');
    for (let twice = 0; twice < 2; twice += 1) await mine.submit(page, { session: first });
    await until(() => mailsOf(me).length === 1);
    await mine.submit(await opened(mine, 'sessions'), { others: 'yes' });
    await until(() => mailsOf(me).length === 2);
    await allSent();
    expect(subjectsOf(me)).toEqual(['A session was ended', 'Your account was signed out']);
    expect(mailsOf(me)[1]?.text).toContain('A browser in which this was asked for on the account page stays signed in.');
  });

  test('tells of a session and of a consent that an administrator ended', async () => {
    const me = await somebody();
    await allow(service.issuer, { userName: me.email, password: 'old' });
    const by = { actor: 'client:help-desk' };
    const [session] = await service.idp.sessions.list(me.ref);
    await service.idp.sessions.end(me.ref, session?.id ?? '', by);
    await service.idp.directory.as(by).consents.withdraw(me.oid, 'third-party');
    await until(() => mailsOf(me).length === 2);
    expect(subjectsOf(me).toSorted()).toEqual(['A session was ended', 'Access to your account was withdrawn']);
  });

  test('has no name of an application that was removed', async () => {
    const me = await somebody();
    await service.idp.directory.consents.allow(me.oid, 'removed', ['openid']);
    await service.idp.directory.consents.withdraw(me.oid, 'removed');
    await until(() => mailsOf(me).length === 1);
    expect(mailsOf(me)[0]?.text).toContain('An application no longer has access to your account at Acme.');
  });

  test.each(['en', 'nb', 'sv', 'da', 'fi', 'de'])('has every text in %s', async (locale) => {
    const me = await somebody(locale);
    await allow(service.issuer, { userName: me.email, password: 'old' });
    await obtainTokens(service.issuer, { userName: me.email, password: 'old' });
    const [session] = await service.idp.sessions.list(me.ref);
    await service.idp.sessions.end(me.ref, session?.id ?? '');
    await service.idp.directory.consents.withdraw(me.oid, 'third-party');
    await service.idp.directory.consents.endClient(me.oid, 'web');
    await service.idp.sessions.endAll(me.ref);
    await until(() => mailsOf(me).length === 4);
    expect(new Set(subjectsOf(me)).size).toBe(4);
    for (const mail of mailsOf(me)) {
      expect([mail.locale, mail.text.includes('Acme')]).toEqual([locale, true]);
      expect(mail.text + mail.html.replace(/<style[\s\S]*?<\/style>/g, '')).not.toMatch(/[{}]|passwords\./);
    }
  });
});

test('a change of the password that signs others out is told by the mail about the password alone', async () => {
  const me = await somebody();
  const agent = await signedIn(me);
  await signedIn(me);
  const form = await opened(agent, 'password');
  const fields = { current: 'old', password: NEW_PASSWORD, others: 'yes' };
  expect(titleOf(await agent.submit(form, fields))).toBe('Your password is changed');
  await allSent();
  expect(subjectsOf(me)).toEqual(['Your password was changed']);
});

test('at most five of these mails a day are sent, and other notices are sent nevertheless', async () => {
  const me = await somebody();
  const endAll = async () => {
    for (let times = 0; times < 7; times += 1) await service.idp.sessions.endAll(me.ref);
    await allSent();
  };
  await endAll();
  expect(mailsOf(me)).toHaveLength(5);
  passTime(2 * 3600);
  await endAll();
  expect(mailsOf(me)).toHaveLength(5);
  await service.idp.tenant(tid).credentials.setPassword(me.oid, NEW_PASSWORD);
  await until(() => mailsOf(me).length === 6);
  passTime(24 * 3600);
  await endAll();
  expect(mailsOf(me).length).toBeGreaterThan(6);
});
