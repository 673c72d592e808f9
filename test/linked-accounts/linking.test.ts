/** Users link their own accounts, and end account links: design §6, threats G1, G10 and H4. */
import { randomUUID } from 'node:crypto';
import { describe, expect, jest, test } from '@jest/globals';
import type { EventMap } from 'tenant-idp';
import { captureMail, invitingSeed, personalTenant, tenantNamed } from '../support/administration/invitations.js';
import { Agent, type Answer, authorizeUrl, createPkce, formOf, signIn, titleOf } from '../support/client/agent.js';
import { useIdp } from '../support/service/use-idp.js';
import { until } from '../support/time/until.js';

const service = useIdp({ seed: invitingSeed, personalTenant, mail: captureMail().mail });
const page = () => `${service.issuer}/idp/linked-accounts`;

/** Creates a person with a password in a tenant. */
async function made(tenant: string, group?: string) {
  const name = `p-${randomUUID().slice(0, 8)}`;
  const tid = await tenantNamed(service.idp, tenant);
  const { persons, users } = service.idp.tenant(tid);
  const userName = `${name}@${tenant.toLowerCase()}.test`;
  const person = await persons.create({ givenName: name, familyName: 'Person', email: userName });
  const { user } = await users.create(person.id, { userName, status: 'active', ...(group !== undefined && { groups: { ids: [group] } }) });
  await service.idp.directory.credentials.seedPassword(user.id, name);
  return { tid, userName, password: name, oid: user.id, tenant };
}
type Made = Awaited<ReturnType<typeof made>>;

/** Signs in on the page that the agent is at. */
async function prove(agent: Agent, at: Answer, { userName, password }: Made): Promise<Answer> {
  const asked = at.body.includes('name="password"') ? at : await agent.follow(await agent.submit(at, { identifier: userName }));
  return agent.follow(await agent.submit(asked, { password }));
}
const open = async (agent: Agent, who: Made): Promise<Answer> => prove(agent, await agent.follow(await agent.get(page())), who);
/** Begins a link as one account and proves the other. Returns the page of both accounts. */
async function begin(agent: Agent, one: Made, other: Made): Promise<Answer> {
  const list = await open(agent, one);
  const asked = await agent.follow(await agent.submit(list, { step: 'link' }));
  expect(titleOf(asked)).toMatch(/^Sign in/);
  return prove(agent, asked, other);
}
const userOf = async ({ tid, userName }: Made) => (await service.idp.tenant(tid).users.findByUserName(userName))?.user;

describe('accounts are linked by who proves both', () => {
  test('the person says whose sign-in stays; the link is the other’s, once, with its event', async () => {
    const heard: EventMap['UserClaimAdded'][] = [];
    service.idp.events.on('UserClaimAdded', ({ data }) => void heard.push(data));
    const [one, other] = [await made('Acme'), await made('Globex')];
    const agent = new Agent();
    const confirm = await begin(agent, one, other);
    expect(titleOf(confirm)).toBe('Link these accounts?');
    for (const { userName } of [one, other]) expect(confirm.body).toContain(userName);
    expect((await userOf(other))?.parentUserId).toBeUndefined();

    const posts = await Promise.all([1, 2, 3].map(() => agent.submit(confirm, { parent: one.oid })));
    expect(posts.filter(({ location }) => location?.includes('?done=linked.'))).toHaveLength(3);
    expect((await userOf(other))?.parentUserId).toBe(one.oid);
    const own = () => heard.filter(({ AggregateId }) => AggregateId === other.oid);
    await until(() => own().length > 0);
    expect(own()).toEqual([{ AggregateId: other.oid, ClaimType: 'sub', ClaimValue: one.oid }]);

    // One sign-in for both: the parent's password signs in by the child's name as well.
    const request = authorizeUrl(service.issuer, { code_challenge: createPkce().challenge, code_challenge_method: 'S256' });
    const chosen = await signIn(new Agent(), request, other.userName, one.password);
    expect(new URL(chosen.location ?? '').searchParams.get('code')).toBeTruthy();
    expect((await signIn(new Agent(), request, other.userName, other.password)).location).toBeUndefined();
  });

  test('of two where one is personal, the personal sign-in is offered first', async () => {
    const [work, home] = [await made('Acme'), await made('Personal')];
    const confirm = await begin(new Agent(), work, home);
    expect(confirm.body.indexOf(`value="${home.oid}"`)).toBeLessThan(confirm.body.indexOf(`value="${work.oid}"`));
  });

  test('who has a parent brings the other account to it', async () => {
    const [one, other, third] = [await made('Acme'), await made('Globex'), await made('Personal')];
    await service.idp.tenant(other.tid).linking.link(other.oid, { tid: one.tid, userId: one.oid });
    const agent = new Agent();
    const confirm = await begin(agent, third, one);
    expect(confirm.body).not.toContain(`value="${third.oid}"`);
    await agent.submit(confirm, { parent: one.oid });
    expect((await userOf(third))?.parentUserId).toBe(one.oid);
  });

  test.each([
    ['the same account', 'same', async (one: Made) => one],
    ['a namesake of the same organisation', 'tenant', async () => made('Acme')],
    [
      'an account that is linked already',
      'linked',
      async (one: Made) => {
        const other = await made('Globex');
        await service.idp.tenant(other.tid).linking.link(other.oid, { tid: one.tid, userId: one.oid });
        return { ...other, password: one.password };
      },
    ],
  ])('H4: %s is not linked', async (_, reason, otherOf) => {
    const one = await made('Acme');
    const refused = await begin(new Agent(), one, await otherOf(one));
    expect(refused.status).toBe(409);
    expect(titleOf(refused)).toBe('These accounts cannot be linked');
    expect(refused.body).toContain({ same: 'same account twice', tenant: 'same organisation', linked: 'linked already' }[reason]);
  });

  test('H4: an account of an administrator becomes nobody’s child', async () => {
    const { permissions } = service.idp.directory;
    await permissions.create({ id: 'idp.users:read', name: 'See users' }).catch(() => undefined);
    const { groups } = service.idp.tenant(await tenantNamed(service.idp, 'Acme'));
    const { id: group } = await groups.create({ name: 'Administrators', permissionIds: ['idp.users:read'] });
    const [boss, other] = [await made('Acme', group), await made('Globex')];
    const confirm = await begin(new Agent(), other, boss);
    expect(confirm.body).toContain(`value="${boss.oid}"`);
    expect(confirm.body).not.toContain(`value="${other.oid}"`);
  });

  test('an account that gets a privilege after the page compared it is refused by the link itself', async () => {
    const { permissions, privileges } = service.idp.directory;
    await permissions.create({ id: 'idp.users:write', name: 'Change users' }).catch(() => undefined);
    const { groups } = service.idp.tenant(await tenantNamed(service.idp, 'Acme'));
    const { id: group } = await groups.create({ name: 'Later', permissionIds: ['idp.users:write'] });
    const [boss, other] = [await made('Acme', group), await made('Globex')];
    const before = jest.spyOn(privileges as { of: unknown } as { of: () => Promise<readonly []> }, 'of').mockResolvedValue([]);
    const agent = new Agent();
    const confirm = await begin(agent, other, boss);
    expect(confirm.body).toContain(`value="${other.oid}"`);
    const refused = await agent.follow(await agent.submit(confirm, { parent: other.oid }));
    expect(titleOf(refused)).toBe('These accounts cannot be linked');
    before.mockRestore();
    expect([(await userOf(boss))?.parentUserId, (await userOf(other))?.isParent]).toEqual([undefined, false]);
  });

  test('G10: a link that was begun counts in its browser alone, and for a sign-in after it', async () => {
    const [one, other] = [await made('Acme'), await made('Globex')];
    const agent = new Agent();
    const confirm = await begin(agent, one, other);
    const thief = new Agent();
    await open(thief, await made('Globex'));
    expect(titleOf(await thief.get(confirm.url))).toBe('Start again');
    expect((await thief.post(formOf(confirm).action, { ...formOf(confirm).fields, parent: one.oid })).status).toBe(400);
    expect((await userOf(other))?.parentUserId).toBeUndefined();
  });

  test('G10: a password that was changed meanwhile takes the proof of the first account', async () => {
    const [one, other] = [await made('Acme'), await made('Globex')];
    const agent = new Agent();
    const confirm = await begin(agent, one, other);
    await service.idp.tenant(one.tid).credentials.setPassword(one.oid, 'another password, a long one');
    expect(titleOf(await agent.submit(confirm, { parent: one.oid }))).toBe('Start again');
    expect((await userOf(other))?.parentUserId).toBeUndefined();
  });

  const signOut = async (agent: Agent) =>
    agent.follow(await agent.submit(await agent.get(`${service.issuer}/connect/endsession`), { logout: 'yes' }));
  const endSessions = async ({ tid, oid }: Made) => {
    const user = { tid, userId: oid };
    for (const { id } of await service.idp.sessions.list(user)) await service.idp.sessions.end(user, id);
  };

  test('a link ends with its sign-ins: after a sign-out or an ended session, nobody finishes it in this browser', async () => {
    for (const end of [signOut, (_: Agent, other: Made) => endSessions(other)]) {
      const [one, other] = [await made('Acme'), await made('Globex')];
      const agent = new Agent();
      const confirm = await begin(agent, one, other);
      expect(titleOf(confirm)).toBe('Link these accounts?');
      await end(agent, other);
      expect(titleOf(await open(agent, other))).toBe('Linked accounts');
      expect(titleOf(await agent.get(confirm.url))).toBe('Start again');
      expect((await agent.post(formOf(confirm).action, { ...formOf(confirm).fields, parent: one.oid })).status).toBe(400);
      expect((await userOf(other))?.parentUserId).toBeUndefined();
    }
  });

  test('a link ends with the sign-in that began it, also before the other account signs in', async () => {
    for (const end of [signOut, (_: Agent, one: Made) => endSessions(one)]) {
      const [one, other] = [await made('Acme'), await made('Globex')];
      const agent = new Agent();
      const asked = await agent.follow(await agent.submit(await open(agent, one), { step: 'link' }));
      await end(agent, one);
      const page = await prove(agent, asked, other).catch(() => undefined);
      expect(page && titleOf(page)).not.toBe('Link these accounts?');
      expect((await userOf(other))?.parentUserId).toBeUndefined();
    }
  });

  test('an account without a way of its own to sign in keeps its link', async () => {
    const [child, parent] = [await made('Globex'), await made('Acme')];
    await service.idp.tenant(child.tid).linking.link(child.oid, { tid: parent.tid, userId: parent.oid });
    await service.idp.directory.credentials.forget(child.oid);
    const agent = new Agent();
    const asked = await agent.follow(await agent.submit(await open(agent, parent), { unlink: child.oid }));
    const refused = await agent.submit(asked, {});
    expect([refused.status, titleOf(refused)]).toEqual([409, 'This link cannot be ended now']);
    expect((await userOf(child))?.parentUserId).toBe(parent.oid);
    await service.idp.directory.credentials.seedPassword(child.oid, child.password);
    // The same form within a minute gets the same answer, so another browser ends the link.
    const later = new Agent();
    const page = await later.follow(await later.submit(await open(later, parent), { unlink: child.oid }));
    await later.follow(await later.submit(page, {}));
    expect((await userOf(child))?.parentUserId).toBeUndefined();
  });

  test('G1: a form without its token, or with that of another page, links and ends nothing', async () => {
    const [one, other] = [await made('Acme'), await made('Globex')];
    const agent = new Agent();
    const list = formOf(await open(agent, one)).fields.csrf ?? '';
    const asked = await agent.follow(await agent.submit(await agent.get(page()), { step: 'link' }));
    const confirm = await prove(agent, asked, other);
    for (const csrf of ['', list]) expect(titleOf(await agent.submit(confirm, { csrf, parent: one.oid }))).toBe('Start again');
    expect((await userOf(other))?.parentUserId).toBeUndefined();
    expect((await agent.submit(confirm, { parent: one.oid })).location).toMatch(/\?done=linked\./);
  });
});

describe('a link is ended by the parent, or by the child', () => {
  const family = async () => {
    const [parent, child, sibling] = [await made('Acme'), await made('Globex'), await made('Personal')];
    for (const { tid, oid } of [child, sibling]) await service.idp.tenant(tid).linking.link(oid, { tid: parent.tid, userId: parent.oid });
    return { parent, child, sibling };
  };

  test('the parent ends it, and the child has a sign-in of its own again', async () => {
    const { parent, child, sibling } = await family();
    const agent = new Agent();
    const list = await open(agent, parent);
    const asked = await agent.follow(await agent.submit(list, { unlink: child.oid }));
    expect(titleOf(asked)).toBe('End this link?');
    expect((await userOf(child))?.parentUserId).toBe(parent.oid);
    const done = await agent.follow(await agent.submit(asked, {}));
    expect(done.body).toContain('The link is ended.');
    const [other, stranger] = [new Agent(), new Agent()];
    await open(other, parent);
    await open(stranger, await made('Globex'));
    for (const each of [other, stranger]) expect((await each.get(done.url)).body).not.toContain('The link is ended.');
    for (const notice of ['linked', 'unlinked'])
      expect((await agent.get(`${page()}?done=${notice}`)).body).not.toMatch(/The link is ended|The accounts are linked/);
    expect((await userOf(child))?.parentUserId).toBeUndefined();
    expect((await userOf(sibling))?.parentUserId).toBe(parent.oid);
    expect(titleOf(await open(new Agent(), child))).toBe('Linked accounts');
  });

  test('G10: somebody else’s link cannot be ended', async () => {
    const { parent, child } = await family();
    const agent = new Agent();
    const list = await open(agent, await made('Globex'));
    expect(titleOf(await agent.follow(await agent.submit(list, { unlink: child.oid })))).toBe('Start again');
    expect((await userOf(child))?.parentUserId).toBe(parent.oid);
  });
});
