/** T-INV-UNPROVEN: if the service has mail, a personal account of an invitation is created when its address is proven. */
import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import { captureMail, invite, invitingSeed, PASSWORD, personalTenant } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, signIn, titleOf } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { linkIn, mailTo } from '../support/sign-in/passwords.js';
import { backToPresent, passTime } from '../support/time/clock.js';

const captured = captureMail();
const service = useIdp({
  seed: invitingSeed as never,
  personalTenant,
  mail: captured.mail,
  limits: { signInFailuresPerAddress: 100_000 },
});
afterEach(backToPresent);
const url = () =>
  authorizeUrl(service.issuer, {
    code_challenge: createPkce().challenge,
    code_challenge_method: 'S256',
    acr_values: `tenant:${personalTenant}`,
  });
const newName = () => `personal-${randomUUID()}@home.test`;
const accountOf = (email: string) => service.idp.tenant(personalTenant).users.findByUserName(email);

/** Opens the link of an invitation, and posts the form of a new account. */
async function begin(agent: Agent, link: string, email: string): Promise<Answer> {
  const form = await agent.follow(await agent.submit(await agent.get(link), { step: 'create' }));
  return agent.follow(await agent.submit(form, { givenName: 'Gina', familyName: 'Go to evil.test', email, password: PASSWORD }));
}

test('T-INV-UNPROVEN: the form makes no account; the mailed link makes it, and goes on to the invitation', async () => {
  expect(await service.idp.tenant(personalTenant).registration.rules()).toBeUndefined();
  const invited = await invite(service.idp, { link: true });
  const email = newName();
  const agent = new Agent();
  expect(titleOf(await begin(agent, invited.url, email))).toBe('Check your e-mail to go on');
  expect(await accountOf(email)).toBeUndefined();
  const mail = await mailTo(captured, email, 'registration');
  expect(mail.text + mail.html).not.toMatch(/Gina|evil/);
  const confirm = await agent.follow(await agent.submit(await agent.get(linkIn(mail)), {}));
  expect(titleOf(confirm)).toBe('Link these accounts?');
  expect((await accountOf(email))?.user).toMatchObject({ status: 'active', emailVerified: true });
  expect(titleOf(await agent.follow(await agent.submit(confirm, { step: 'link' })))).toBe('Your account is ready');
  const child = await service.idp.tenant(invited.tid).users.findByUserName(invited.userName);
  expect(child?.user.parentUserId).toBe((await accountOf(email))?.user.id);
});

test('T-INV-UNPROVEN: in another browser, the link asks for a new password, and leads to no invitation', async () => {
  const invited = await invite(service.idp, { link: true });
  const email = newName();
  await begin(new Agent(), invited.url, email);
  const owner = new Agent();
  const page = await owner.get(linkIn(await mailTo(captured, email, 'registration')));
  expect(page.body).toContain('name="password"');
  const fields = { givenName: 'Olga', familyName: 'Owner', password: 'chosen by the owner alone' };
  expect(titleOf(await owner.follow(await owner.submit(page, fields)))).toBe('Your account is ready');
  expect((await accountOf(email))?.givenName).toBe('Olga');
  expect((await signIn(new Agent(), url(), email, PASSWORD)).location).toBeUndefined();
  expect((await signIn(new Agent(), url(), email, fields.password)).location).toContain('code=');
});

test('T-INV-UNPROVEN: the form that makes an account without mail is not there', async () => {
  const invited = await invite(service.idp, { link: true });
  const agent = new Agent();
  await agent.submit(await agent.get(invited.url), { step: 'create' });
  const address = `${service.issuer}/idp/invitations/create?invitation=${invited.invitation.id}.1`;
  expect((await agent.get(address)).body).not.toContain('name="givenName"');
});

test('a form of an invitation that was withdrawn meanwhile makes nothing, and the tenant stays closed to others', async () => {
  const invited = await invite(service.idp, { link: true });
  const agent = new Agent();
  const form = await agent.follow(await agent.submit(await agent.get(invited.url), { step: 'create' }));
  await invited.invitations.revoke(invited.invitation.id);
  const email = newName();
  const answer = await agent.submit(form, { givenName: 'G', familyName: 'G', email, password: PASSWORD });
  expect(titleOf(answer)).not.toBe('Check your e-mail to go on');
  const closed = await new Agent().follow(await new Agent().get(`${url()}&prompt=create`));
  expect(closed.location ?? closed.body).toMatch(/access_denied|Users cannot create accounts here/);
});

test('R7-LATE: an account that is made after the sign-in has expired says that the invitation is still to be accepted', async () => {
  const invited = await invite(service.idp, { link: true });
  const email = newName();
  const agent = new Agent();
  await begin(agent, invited.url, email);
  const page = await agent.get(linkIn(await mailTo(captured, email, 'registration')));
  passTime(2000);
  const late = await agent.follow(await agent.submit(page, {}));
  expect([titleOf(late), late.body.includes('Open your invitation again to accept it.')]).toEqual(['Your account is ready', true]);
  // The content differs, because the same content would get the former answer.
  expect((await agent.submit(page, { again: 'yes' })).body).toContain('Open your invitation again to accept it.');
  const form = await agent.follow(await agent.submit(await agent.get(invited.url), { step: 'sign-in' }));
  const asked = form.body.includes('name="password"') ? form : await agent.submit(form, { identifier: email });
  const confirm = await agent.follow(await agent.submit(asked, { password: PASSWORD }));
  expect(titleOf(await agent.follow(await agent.submit(confirm, { step: 'link' })))).toBe('Your account is ready');
  const child = await service.idp.tenant(invited.tid).users.findByUserName(invited.userName);
  expect(child?.user.parentUserId).toBe((await accountOf(email))?.user.id);
});

test('R7-MANY: one invitation makes five accounts in a day, and another one goes on', async () => {
  const invited = await invite(service.idp, { link: true });
  const made: (string | undefined)[] = [];
  let last: Answer | undefined;
  for (let index = 0; index < 6; index += 1) {
    const email = newName();
    const agent = new Agent();
    await begin(agent, invited.url, email);
    last = await agent.follow(await agent.submit(await agent.get(linkIn(await mailTo(captured, email, 'registration'))), {}));
    made.push((await accountOf(email))?.user.status);
  }
  expect(made).toEqual([...Array<string>(5).fill('active'), undefined]);
  expect([last?.status, last?.body.includes('Too many accounts were created with this invitation today.')]).toEqual([429, true]);
  const other = await invite(service.idp, { link: true });
  const email = newName();
  await begin(new Agent(), other.url, email);
  expect((await mailTo(captured, email, 'registration')).to).toBe(email);
});

test('R7-MANY: one invitation sends thirty forms in a day', async () => {
  const invited = await invite(service.idp, { link: true });
  const agent = new Agent();
  const form = await agent.follow(await agent.submit(await agent.get(invited.url), { step: 'create' }));
  const statuses: number[] = [];
  for (let index = 0; index < 31; index += 1)
    statuses.push((await agent.submit(form, { givenName: 'x'.repeat(201), familyName: 'G', email: newName(), password: PASSWORD })).status);
  expect(statuses).toEqual([...Array<number>(30).fill(400), 429]);
});

test('R6-FIRST: a new password between the sign-in and the first page, at any step of the way back', async () => {
  const pages: string[] = [];
  for (let steps = 0; ; steps += 1) {
    const invited = await invite(service.idp, { link: true });
    const email = newName();
    const { persons, credentials } = service.idp.tenant(personalTenant);
    const { user } = await persons.create({ givenName: 'P', familyName: 'P', email, user: { userName: email, status: 'active' } });
    await service.idp.directory.credentials.seedPassword(user?.id ?? '', PASSWORD);
    const agent = new Agent();
    const form = await agent.follow(await agent.submit(await agent.get(invited.url), { step: 'sign-in' }));
    const asked = form.body.includes('name="password"') ? form : await agent.submit(form, { identifier: email });
    let answer = await agent.submit(asked, { password: PASSWORD });
    for (let step = 0; step < steps && answer.location; step += 1) answer = await agent.get(answer.location);
    const isThere = answer.location === undefined;
    await credentials.setPassword(user?.id ?? '', 'another password that is long');
    const page = isThere ? answer : await agent.follow(answer);
    const done = titleOf(page) === 'Link these accounts?' ? await agent.follow(await agent.submit(page, { step: 'link' })) : page;
    pages.push(titleOf(done));
    const child = await service.idp.tenant(invited.tid).users.findByUserName(invited.userName);
    expect([steps, child?.user.parentUserId]).toEqual([steps, undefined]);
    if (isThere) break;
  }
  expect(pages.length).toBeGreaterThan(2);
  expect(new Set(pages)).toEqual(new Set(['Sign in to Acme']));
});
