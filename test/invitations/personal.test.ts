/** Service specification 4.12 “link=true”; threat G10: the invited user signs in or creates a personal account, and both are linked. */
import { randomUUID } from 'node:crypto';
import { describe, expect, jest, test } from '@jest/globals';
import type { EventMap } from 'tenant-idp';
import { problemsOf } from '../../lib/testing/pages.js';
import { invite, invitingSeed, PASSWORD, personalTenant, postRegistrationUri } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, signIn, titleOf } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { until } from '../support/time/until.js';

const service = useIdp({ seed: invitingSeed as never, personalTenant });
const pkce = { code_challenge: createPkce().challenge, code_challenge_method: 'S256' };

/** Opens the link and signs in to a personal account, up to the page that confirms both accounts. */
async function asPersonal(agent: Agent, url: string, userName: string, password: string): Promise<Answer> {
  const identifier = await agent.follow(await agent.submit(await agent.get(url), { step: 'sign-in' }));
  const asked = await agent.submit(identifier, { identifier: userName });
  return agent.follow(await agent.submit(asked, { password }));
}
const create = { givenName: 'Gina', familyName: 'Guest', password: PASSWORD };
/** Opens the link and creates a new personal account. */
async function asNew(agent: Agent, url: string, email: string, fields: Partial<typeof create> = {}): Promise<Answer> {
  const form = await agent.follow(await agent.submit(await agent.get(url), { step: 'create' }));
  return agent.follow(await agent.submit(form, { ...create, email, ...fields }));
}
const personOf = async ({ tid, userName }: { tid: string; userName: string }) => service.idp.tenant(tid).users.findByUserName(userName);
const newName = () => `personal-${randomUUID()}@home.test`;

describe('4.12 link=true makes the invited user sign in or create a personal account', () => {
  test('signs in: both accounts are shown, and only then the organisation’s is linked to the personal one', async () => {
    const heard: EventMap['UserClaimAdded'][] = [];
    service.idp.events.on('UserClaimAdded', ({ data }) => void heard.push(data));
    const invited = await invite(service.idp, { link: true, clientId: 'portal' });
    const agent = new Agent();
    expect((await agent.get(invited.url)).body).not.toContain('type="password"');
    const confirm = await asPersonal(agent, invited.url, 'paula@home.test', 'paula');
    expect(titleOf(confirm)).toBe('Link these accounts?');
    expect(confirm.body).toContain('Personal: Paula Private (paula@home.test)');
    expect(confirm.body).toContain(`Acme: Gina Guest (${invited.userName})`);
    expect((await personOf(invited))?.user.status).toBe('invited');

    const done = await agent.follow(await agent.submit(confirm, { step: 'link' }));
    expect(done.location).toBe(postRegistrationUri);
    const parent = await service.idp.tenant(personalTenant).users.findByUserName('paula@home.test');
    const child = await personOf(invited);
    expect(child?.user).toMatchObject({ status: 'active', parentUserId: parent?.user.id });
    const own = () => heard.filter(({ AggregateId }) => AggregateId === child?.user.id);
    await until(() => own().length > 0);
    expect(own()).toEqual([
      {
        AggregateId: child?.user.id,
        ClaimType: 'sub',
        ClaimValue: parent?.user.id,
        metadata: { ClientId: 'portal', ClientName: 'The portal' },
      },
    ]);
    // The browser is signed in to the organisation's account, without another password.
    const { location = '' } = await agent.follow(
      await agent.get(authorizeUrl(service.issuer, { prompt: 'none', acr_values: `tenant:${invited.tid}`, ...pkce })),
    );
    expect(new URL(location).searchParams.get('code')).toBeTruthy();
  });

  test('a confirmation that is sent twice is answered like the first', async () => {
    const invited = await invite(service.idp, { link: true });
    const agent = new Agent();
    const confirm = await asNew(agent, invited.url, newName());
    const first = await agent.submit(confirm, { step: 'link' });
    const second = await agent.submit(confirm, { step: 'link' });
    expect([first.status, second.status]).toEqual([303, 303]);
    expect(titleOf(await agent.follow(second))).toBe('Your account is ready');
  });

  test('a user who gets a privilege after the page compared it is refused by the link itself', async () => {
    const invited = await invite(service.idp, { link: true });
    const { permissions, privileges } = service.idp.directory;
    await permissions.create({ id: 'idp.users:write', name: 'Change users' });
    const { groups, users } = service.idp.tenant(invited.tid);
    const { id } = await groups.create({ name: 'Later', permissionIds: ['idp.users:write'] });
    const agent = new Agent();
    const confirm = await asPersonal(agent, invited.url, 'paula@home.test', 'paula');
    await users.addGroups((await personOf(invited))?.user.id ?? '', { ids: [id] });
    const before = jest.spyOn(privileges as { of: unknown } as { of: () => Promise<readonly []> }, 'of').mockResolvedValue([]);
    const refused = await agent.follow(await agent.submit(confirm, { step: 'link' }));
    before.mockRestore();
    expect(titleOf(refused)).not.toBe('Your account is ready');
    expect((await personOf(invited))?.user).toMatchObject({ status: 'invited' });
    expect((await personOf(invited))?.user.parentUserId).toBeUndefined();
  });

  test('creates one: the invitation alone opens the personal tenant to registration', async () => {
    const { registration } = service.idp.tenant(personalTenant);
    expect(await registration.rules()).toBeUndefined();
    const invited = await invite(service.idp, { link: true });
    const email = newName();
    const agent = new Agent();
    const confirm = await asNew(agent, invited.url, email);
    expect(titleOf(confirm)).toBe('Link these accounts?');
    const done = await agent.follow(await agent.submit(confirm, { step: 'link' }));
    expect(titleOf(done)).toBe('Your account is ready');
    const parent = await service.idp.tenant(personalTenant).users.findByUserName(email);
    expect(parent?.user).toMatchObject({ status: 'active', emailVerified: false, isParent: true });
    expect((await personOf(invited))?.user.parentUserId).toBe(parent?.user.id);
    // The personal password signs in to the organisation's account.
    const url = authorizeUrl(service.issuer, { acr_values: `tenant:${invited.tid}`, ...pkce });
    expect((await signIn(new Agent(), url, invited.userName, PASSWORD)).location).toContain('code=');
  });

  test('what is wrong with a new account is said, and creates none', async () => {
    const invited = await invite(service.idp, { link: true });
    const agent = new Agent();
    for (const fields of [{ givenName: 'x'.repeat(201) }, { familyName: 'x'.repeat(201) }, { password: 'short' }]) {
      const page = await asNew(agent, invited.url, newName(), fields);
      expect([page.status, titleOf(page), page.body.includes('aria-invalid')]).toEqual([400, 'Create your personal account', true]);
    }
    const taken = await asNew(agent, invited.url, 'paula@home.test');
    expect([taken.status, problemsOf(taken).join().includes('There is an account with this e-mail address')]).toEqual([400, true]);
  });

  test('an account that has a parent links to that parent', async () => {
    const { idp } = service;
    const { directory } = idp;
    const globex = (await directory.tenants.find()).find(({ name }) => name === 'Globex')?.id as string;
    const email = newName();
    const root = await idp
      .tenant(globex)
      .persons.create({ givenName: 'R', familyName: 'R', email, user: { userName: email, status: 'active' } });
    await idp.tenant(globex).credentials.setPassword(root.user?.id as string, PASSWORD);
    const own = await idp
      .tenant(personalTenant)
      .persons.create({ givenName: 'R', familyName: 'R', user: { userName: email, status: 'active' } });
    await idp.tenant(personalTenant).linking.link(own.user?.id as string, { tid: globex, userId: root.user?.id as string });
    const invited = await invite(idp, { link: true });
    const agent = new Agent();
    const confirm = await asPersonal(agent, invited.url, email, PASSWORD);
    const done = await agent.follow(await agent.submit(confirm, { step: 'link' }));
    expect(titleOf(done)).toBe('Your account is ready');
    expect((await personOf(invited))?.user.parentUserId).toBe(root.user?.id);
  });

  test('a family with an account in this tenant already gets a refusal page; another account can be used instead', async () => {
    const email = newName();
    const first = await invite(service.idp, { link: true });
    const agent = new Agent();
    await agent.follow(await agent.submit(await asNew(agent, first.url, email), { step: 'link' }));
    const second = await invite(service.idp, { link: true });
    const other = new Agent();
    const refused = await asPersonal(other, second.url, email, PASSWORD);
    expect([refused.status, titleOf(refused)]).toEqual([409, 'These accounts cannot be linked']);
    expect((await personOf(second))?.user.status).toBe('invited');
    const again = await other.follow(await other.submit(refused, { step: 'another' }));
    expect(again.body).toContain('name="identifier"');
  });
});

describe('G10 control of both accounts is proven', () => {
  test('who was signed in to a personal account before signs in again', async () => {
    const agent = new Agent();
    await signIn(agent, authorizeUrl(service.issuer, { acr_values: `tenant:${personalTenant}`, ...pkce }), 'paula@home.test', 'paula');
    const invited = await invite(service.idp, { link: true });
    const next = await agent.follow(await agent.submit(await agent.get(invited.url), { step: 'sign-in' }));
    expect(next.body).toMatch(/name="(identifier|password)"/);
    const confirm = `${service.issuer}/idp/invitations/confirm?invitation=${invited.invitation.id}.1`;
    // The browser is signed in, but not since the link was opened.
    await new Promise((resolve) => setTimeout(resolve, 1100));
    const other = await invite(service.idp, { link: true });
    await agent.submit(await agent.get(other.url), { step: 'sign-in' });
    const late = await agent.get(`${service.issuer}/idp/invitations/confirm?invitation=${other.invitation.id}.1`);
    expect([late.status, titleOf(late)]).toEqual([400, 'Open your invitation again']);
    expect((await new Agent().get(confirm)).status).toBe(400);
  });

  test('the steps after the link are of the browser that opened it: nobody else gets on with them', async () => {
    const invited = await invite(service.idp, { link: true });
    const victim = new Agent();
    const confirm = await asPersonal(victim, invited.url, 'paula@home.test', 'paula');
    const thief = new Agent();
    await signIn(thief, authorizeUrl(service.issuer, { acr_values: `tenant:${personalTenant}`, ...pkce }), 'paula@home.test', 'paula');
    const { action, fields } = formOf(confirm);
    expect((await thief.post(action, { ...fields, step: 'link' })).status).toBe(400);
    expect((await thief.get(action)).status).toBe(400);
    expect((await personOf(invited))?.user.status).toBe('invited');
  });

  test('the form says which account it is about: after another sign-in it is refused', async () => {
    const invited = await invite(service.idp, { link: true });
    const agent = new Agent();
    const before = await asPersonal(agent, invited.url, 'paula@home.test', 'paula');
    await asNew(agent, invited.url, newName());
    const answer = await agent.submit(before, { step: 'link' });
    expect([answer.status, titleOf(answer)]).toEqual([403, 'This form cannot be used']);
  });

  test('a person of the organisation itself, signed in, is no personal account', async () => {
    const invited = await invite(service.idp, { link: true });
    const agent = new Agent();
    await agent.submit(await agent.get(invited.url), { step: 'sign-in' });
    await signIn(agent, authorizeUrl(service.issuer, pkce), 'carol@acme.test', 'carol');
    const page = await agent.get(`${service.issuer}/idp/invitations/confirm?invitation=${invited.invitation.id}.1`);
    expect([page.status, titleOf(page)]).toEqual([400, 'Open your invitation again']);
  });

  test('five accounts at most come of one invitation', async () => {
    const invited = await invite(service.idp, { link: true });
    for (let times = 0; times < 5; times += 1)
      expect(titleOf(await asNew(new Agent(), invited.url, newName()))).toBe('Link these accounts?');
    expect((await asNew(new Agent(), invited.url, newName())).status).toBe(429);
  });
});
