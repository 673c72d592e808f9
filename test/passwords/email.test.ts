/** Issue 14, 4: proofs of addresses, notices of changes, and support agents who help users with a password. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { MailMessage } from 'tenant-idp';
import { type AdminClient, adminClient, administer, adminSeed, adminToken } from '../support/administration/admin.js';
import { captureMail, tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, formOf, signIn, titleOf } from '../support/client/agent.js';
import { expectQuietLog } from '../support/service/leaks.js';
import { useIdp } from '../support/service/use-idp.js';
import { enrol } from '../support/sign-in/factors.js';
import { forget, linkIn, mailTo, NEW_PASSWORD, pkce } from '../support/sign-in/passwords.js';
import { until } from '../support/time/until.js';

const captured = captureMail();
const helper = adminClient('help-desk', ['Acme'], ['idp.users:read', 'idp.users:write', 'idp.persons:write', 'idp.factors:write']);
const service = useIdp({
  seed: { ...adminSeed, clients: [...adminSeed.clients, helper] },
  mail: captured.mail,
  limits: { signInFailuresPerAddress: 100_000 },
});
let acme: string;
let helpDesk: AdminClient;
beforeAll(async () => {
  acme = await tenantNamed(service.idp, 'Acme');
  helpDesk = administer(service.issuer, await adminToken(service.issuer, 'help-desk', helper.allowedScopes.join(' ')));
});

let count = 0;
/** Creates an active user for one test, whose address is verified. */
async function person(more: Record<string, unknown> = {}, tid = acme) {
  count += 1;
  const email = `mover-${count}@acme.test`;
  const user = { userName: email, emailVerified: true, status: 'active' as const, ...more };
  const made = await service.idp.tenant(tid).persons.create({ givenName: 'Mo', familyName: 'Ver', email, user });
  const oid = made.user?.id as string;
  await service.idp.directory.credentials.seedPassword(oid, 'old');
  return { email, oid, personId: made.id, tid };
}
const page = `/idp/email`;
/** Opens the page of the user's own address, after a sign-in. */
async function ownPage(agent: Agent, userName: string): Promise<Answer> {
  const first = await agent.follow(await agent.get(`${service.issuer}${page}`));
  const second = await agent.submit(first, { identifier: userName });
  return agent.follow(await agent.submit(second, { password: 'old' }));
}
const personOf = async (oid: string) => (await service.idp.directory.accounts.findByOid(oid))?.person;
/** Presses the button of the link, in a browser that did not request the link. The browser signs in to the account first. */
async function confirm(mail: MailMessage, userName: string, agent = new Agent()): Promise<Answer> {
  const first = await agent.follow(await agent.submit(await agent.get(linkIn(mail)), {}));
  const second = await agent.submit(first, { identifier: userName });
  const page = await agent.follow(await agent.submit(second, { password: 'old' }));
  return agent.follow(await agent.submit(page, {}));
}
const signsIn = async (userName: string, password = 'old'): Promise<boolean> =>
  (await signIn(new Agent(), authorizeUrl(service.issuer, pkce), userName, password)).location?.includes('code=') ?? false;

describe('14.4 a new address counts only after it proved itself', () => {
  test('the old one stays in use until the link is used; then the user name follows, and the old one is told', async () => {
    const { email, oid } = await person();
    const next = `next-${email}`;
    const agent = new Agent();
    const form = await ownPage(agent, email);
    expect([form.status, titleOf(form), form.body.includes(email)]).toEqual([200, 'E-mail address', true]);
    const sent = await agent.submit(form, { email: next });
    expect([sent.status, titleOf(sent)]).toEqual([200, 'Check your e-mail']);
    const mail = await mailTo(captured, next, 'email-proof');
    expect(await personOf(oid)).toMatchObject({ email, user: { userName: email, emailVerified: true } });
    const question = await new Agent().get(linkIn(mail));
    expect([titleOf(question), question.body.includes(next), question.body.includes('Acme')]).toEqual([
      'Is this your e-mail address?',
      true,
      true,
    ]);
    expect(await personOf(oid)).toMatchObject({ email });
    const other = new Agent();
    expect(titleOf(await confirm(mail, email, other))).toBe('Your address is confirmed');
    expect(await personOf(oid)).toMatchObject({ email: next, user: { userName: next, emailVerified: true } });
    expect((await mailTo(captured, email, 'account-changed')).subject).toBe('Your e-mail address was changed');
    expect([await signsIn(next), await signsIn(email)]).toEqual([true, false]);
    expect(titleOf(await other.get(linkIn(mail)))).toBe('Your address is confirmed');
    expect([(await new Agent().get(linkIn(mail))).status, titleOf(await new Agent().get(linkIn(mail)))]).toEqual([
      410,
      'This link was used',
    ]);
    await until(
      async () => (await personOf(oid))?.user.formerEmails,
      (addresses) => addresses === undefined,
    );
  });

  test('G2 an address that another user has is told of there, and not on the page', async () => {
    const { email } = await person();
    const { email: taken } = await person();
    const answers = new Set<string>();
    for (const wanted of [taken, `free-${email}`]) {
      const agent = new Agent();
      const { status, body } = await agent.submit(await ownPage(agent, email), { email: wanted });
      answers.add(`${status} ${body.replaceAll(wanted, 'WANTED')}`);
    }
    expect(answers.size).toBe(1);
    expect(linkIn(await mailTo(captured, taken, 'email-taken'))).toBe('');
  });

  test('it takes a sign-in of a moment ago, a form of this browser, and an address', async () => {
    const { email } = await person();
    const agent = new Agent();
    const form = await ownPage(agent, email);
    const wrong = await agent.submit(form, { email: 'nobody' });
    expect([wrong.status, wrong.body.includes('aria-invalid="true"'), formOf(wrong).fields.email]).toEqual([400, true, 'nobody']);
    expect((await agent.submit(form, { email: `x-${email}`, csrf: 'x' })).status).toBe(403);
    expect((await agent.submit(form, { email })).status).toBe(400);
    // The new browser has no cookies.
    const { action, fields } = formOf(form);
    expect((await new Agent().post(action, { ...fields, email: `x-${email}` })).status).toBe(403);
  });

  test('an address that an administrator changes is not verified until its link is used; until then resets go to the one before', async () => {
    const { email, oid, personId } = await person();
    const next = `admin-${email}`;
    const { json } = await helpDesk.patch(`/tenants/${acme}/persons/${personId}`, { email: next });
    expect(json).toMatchObject({ email: next, user: { emailVerified: false } });
    const proof = await mailTo(captured, next, 'email-proof');
    expect((await mailTo(captured, email, 'account-changed')).subject).toBe('Your e-mail address was changed');
    await forget(service.issuer, email);
    expect((await mailTo(captured, email, 'password-reset')).to).toBe(email);
    expect(captured.mails.filter(({ to, kind }) => to === next && kind === 'password-reset')).toEqual([]);
    expect(titleOf(await confirm(proof, email))).toBe('Your address is confirmed');
    // The user name is another address, which nobody proved.
    expect(await personOf(oid)).toMatchObject({ email: next, user: { userName: email, emailVerified: false } });
    expect((await personOf(oid))?.user.provenEmail).toBeUndefined();
  });
});

describe('14.4 a mail tells the person of what changed', () => {
  test('a password that is set, and links that are made and ended: each once, to each of the two', async () => {
    const globex = await tenantNamed(service.idp, 'Globex');
    const [parent, child] = [await person(), await person({}, globex)];
    await service.idp.tenant(parent.tid).credentials.setPassword(parent.oid, NEW_PASSWORD);
    const subjects = (address: string) => captured.mails.filter(({ to }) => to === address).map(({ subject }) => subject);
    await until(
      () => subjects(parent.email),
      (all) => all.length === 1,
    );
    const { linking } = service.idp.tenant(globex);
    await linking.link(child.oid, { tid: acme, userId: parent.oid });
    await linking.unlink(child.oid, parent.oid);
    await until(
      () => [...subjects(parent.email), ...subjects(child.email)],
      (all) => all.length === 5,
    );
    expect(subjects(parent.email)).toEqual(['Your password was changed', 'Your accounts were linked', 'A link of your account was ended']);
    expect(subjects(child.email)).toEqual(['Your accounts were linked', 'A link of your account was ended']);
  });

  const mailsTo = (email: string, subject: string, many: number) =>
    until(
      () => captured.mails.filter((mail) => mail.to === email && mail.subject === subject),
      (all) => all.length === many,
    );

  test('each second factor that is added and removed', async () => {
    const { email, oid, tid } = await person();
    await enrol(new Agent(), authorizeUrl(service.issuer, { ...pkce, acr_values: 'mfa' }), email, 'old');
    // The factors are the app and its recovery codes.
    const [added] = await mailsTo(email, 'A sign-in factor was added', 2);
    expect([added?.text.includes(email), added?.text.includes('Acme')]).toEqual([false, true]);
    expect((await helpDesk.remove(`/tenants/${tid}/users/${oid}/factors`)).status).toBe(204);
    await mailsTo(email, 'A sign-in factor was removed', 2);
  });

  test('each identity at a provider that is recorded and forgotten', async () => {
    const { email, oid, tid } = await person();
    const { users } = service.idp.tenant(tid);
    await users.update(oid, { externalIdentities: [{ idp: 'elsewhere', subject: 'them-there' }] });
    const [connected] = await mailsTo(email, 'Another way to sign in was connected', 1);
    expect(connected?.text).not.toContain('them-there');
    await users.update(oid, { externalIdentities: [] });
    await mailsTo(email, 'A way to sign in was disconnected', 1);
  });
});

describe('issue 13: the help desk', () => {
  const reset = (oid: string, tid = acme) => helpDesk.post(`/tenants/${tid}/users/${oid}/password-reset`);

  test('sends a link, and answers nothing else; a user without a password gets one too', async () => {
    const { email, oid } = await person();
    await service.idp.directory.credentials.forget(oid);
    const { status, text } = await reset(oid);
    expect([status, text]).toEqual([204, '']);
    const agent = new Agent();
    const answer = await agent.submit(await agent.get(linkIn(await mailTo(captured, email, 'password-reset'))), { password: NEW_PASSWORD });
    expect([answer.status, await signsIn(email, NEW_PASSWORD)]).toEqual([303, true]);
  });

  test('respects tenants, privileges and states', async () => {
    const globex = await tenantNamed(service.idp, 'Globex');
    const tenants = service.idp.tenant(acme);
    const stranger = await person({}, globex);
    expect([(await reset(stranger.oid)).status, (await reset(stranger.oid, globex)).status]).toEqual([404, 404]);
    const carol = await tenants.users.findByUserName('carol@acme.test');
    expect((await reset(carol?.user.id as string)).json.code).toBe('user_privileged');
    const [disabled, invited] = [await person(), await person({ status: 'invited' })];
    await tenants.users.disable(disabled.oid);
    for (const { oid } of [disabled, invited]) expect((await reset(oid)).json.code).toBe('reset_unavailable');
    const child = await person();
    const parent = await person({}, globex);
    await tenants.linking.link(child.oid, { tid: globex, userId: parent.oid });
    expect((await reset(child.oid)).json.code).toBe('reset_unavailable');
    const bare = await tenants.persons.create({ givenName: 'No', familyName: 'Mail', user: { userName: 'no-mail', status: 'active' } });
    expect((await reset(bare.user?.id as string)).json.code).toBe('email_required');
  });
});

test('design §6: nothing here was an error of the service', () => expectQuietLog(service));
