/** Invitation links in the directory: how the links open and end, and which accounts they link. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { codeOf } from '../support/service/test-directory.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { ALICE, acme, everything, PASSWORD, personalTenant, refOf, sequence, type World } from './acme.js';

afterEach(backToPresent);

describe('4.12 an invitation link can be fetched through the API instead of being e-mailed', () => {
  test('the link is the same each time, says what it is for, and opening it changes nothing', async () => {
    const world = await acme();
    await using _ = world.t;
    const { invitation } = await world.invitations.createPerson(ALICE, { send: false, clientId: 'portal', locale: 'nb' });
    const links = [await world.invitations.link(invitation.id), await world.invitations.link(invitation.id)];
    expect(links[0]).toEqual(links[1]);
    const ref = await refOf(world, invitation.id);
    await world.t.dispatched();
    const before = await everything(world.t);
    expect(await world.acceptance.open(ref)).toMatchObject({ state: 'pending', clientId: 'portal', locale: 'nb', takes: 'password' });
    expect(await everything(world.t)).toEqual(before);
  });

  test('a token of another id, serial or secret is none of ours', async () => {
    const world = await acme();
    await using _ = world.t;
    const { invitation } = await world.invitations.createPerson(ALICE, { send: false });
    const token = new URL((await world.invitations.link(invitation.id)).url).pathname.slice(1);
    const [id = '', serial = '', secret = ''] = token.split('.');
    const others = [
      `${id}.2.${secret}`,
      `${id}.${serial}.${'A'.repeat(43)}`,
      `${'A'.repeat(22)}.${serial}.${secret}`,
      `${id}.0${serial}.${secret}`,
      `${token}x`,
      token.toLowerCase(),
      '',
      'a.b.c',
    ];
    expect(others.map((other) => world.acceptance.read(other))).toEqual(others.map(() => undefined));
    expect(world.acceptance.read(token)).toEqual({ id: invitation.id, serial: 1 });
  });

  test('a link that was fetched never sets emailVerified; one that was mailed does, where the address is the user name', async () => {
    const world = await acme();
    await using _ = world.t;
    const { invitations, acceptance } = world;
    const mailed = await invitations.createPerson(ALICE, { send: true });
    const fetched = await invitations.createPerson(
      { ...ALICE, email: 'bob@acme.test', user: { userName: 'bob@acme.test' } },
      { send: true },
    );
    const named = await invitations.createPerson({ ...ALICE, email: 'carol@acme.test', user: { userName: 'carol' } }, { send: true });
    await invitations.link(fetched.invitation.id);
    const accepted = async ({ invitation }: typeof mailed) =>
      (await acceptance.accept({ id: invitation.id, serial: 1 }, PASSWORD)).person.user.emailVerified;
    expect([await accepted(mailed), await accepted(fetched), await accepted(named)]).toEqual([true, false, false]);
  });

  test('a link that is sent after one was fetched proves the address again, because the fetched one is void', async () => {
    const world = await acme();
    await using _ = world.t;
    const { invitation } = await world.invitations.createPerson(ALICE, { send: false });
    await world.invitations.link(invitation.id);
    await world.invitations.resend(invitation.id);
    const { person } = await world.acceptance.accept({ id: invitation.id, serial: 2 }, PASSWORD);
    expect(person.user.emailVerified).toBe(true);
  });
});

describe('G9 the link of an invitation', () => {
  test('is void after resend, revoke, a changed address, another invitation, and when the user is disabled or erased', async () => {
    const world = await acme();
    await using _ = world.t;
    const { invitations, acceptance, persons, users } = world;
    const voided = async (name: string, change: (ids: { id: string; personId: string; userId: string }) => Promise<unknown>) => {
      const person = { ...ALICE, email: `${name}@acme.test`, user: { userName: name } };
      const { invitation } = await invitations.createPerson(person, { send: false });
      const ref = await refOf(world, invitation.id);
      await change(invitation);
      return [(await acceptance.open(ref))?.state, await codeOf(acceptance.accept(ref, PASSWORD))];
    };
    expect(await voided('resend', ({ id }) => invitations.resend(id))).toEqual(['replaced', 'invitation_over']);
    expect(await voided('revoke', ({ id }) => invitations.revoke(id))).toEqual(['revoked', 'invitation_over']);
    expect(await voided('address', ({ personId }) => persons.update(personId, { email: 'other@acme.test' }))).toEqual([
      'replaced',
      'invitation_over',
    ]);
    expect(await voided('another', ({ userId }) => invitations.create(userId, { send: false }))).toEqual(['revoked', 'invitation_over']);
    expect(await voided('disabled', ({ userId }) => users.disable(userId))).toEqual(['revoked', 'invitation_over']);
    expect(await voided('erased', ({ personId }) => persons.remove(personId))).toEqual([undefined, 'invitation_over']);
    expect(await voided('name', ({ personId }) => persons.update(personId, { givenName: 'Al' }))).toEqual(['pending', undefined]);
  });

  test('works again when a disabled user is enabled', async () => {
    const world = await acme();
    await using _ = world.t;
    const { invitation, person } = await world.invitations.createPerson(ALICE, { send: false });
    const ref = await refOf(world, invitation.id);
    await world.users.disable(person.user.id);
    await world.users.enable(person.user.id);
    expect((await world.acceptance.open(ref))?.state).toBe('pending');
  });

  test('is valid 24 hours; a resend gives all of the time again', async () => {
    const world = await acme();
    await using _ = world.t;
    const { invitation } = await world.invitations.createPerson(ALICE, { send: false });
    const ref = await refOf(world, invitation.id);
    passTime(86_390);
    expect((await world.acceptance.open(ref))?.state).toBe('pending');
    passTime(86_410);
    expect([(await world.acceptance.open(ref))?.state, await codeOf(world.acceptance.accept(ref, PASSWORD))]).toEqual([
      'expired',
      'invitation_over',
    ]);
    expect((await world.invitations.list({ status: 'expired' })).items.map(({ id }) => id)).toEqual([invitation.id]);
    expect(await codeOf(world.invitations.link(invitation.id))).toBe('invitation_over');
    expect(await world.invitations.resend(invitation.id)).toMatchObject({ status: 'pending' });
    expect((await world.acceptance.open({ ...ref, serial: 2 }))?.state).toBe('pending');
  });

  test('its secret is nowhere in what is kept', async () => {
    const world = await acme();
    await using _ = world.t;
    const { invitation } = await world.invitations.createPerson(ALICE, { send: true });
    const { url } = await world.invitations.link(invitation.id);
    const secret = url.split('.').at(-1) as string;
    expect(JSON.stringify(await everything(world.t))).not.toContain(secret);
  });
});

describe('4.12 link=true: an account to which the organisation account is linked', () => {
  const personal = async (world: World, userName = 'me@home.test') =>
    (await world.t.directory.forTenant(personalTenant).persons.create({ ...ALICE, user: { userName, status: 'active' } })).user
      ?.id as string;

  test('acceptance activates and links in one write, with UserClaimAdded for the child', async () => {
    const world = await acme();
    await using _ = world.t;
    const parent = await personal(world);
    const { invitation, person } = await world.invitations.createPerson(ALICE, { send: false, link: true });
    const ref = await refOf(world, invitation.id);
    expect(await codeOf(world.acceptance.accept(ref, PASSWORD))).toBe('invitation_over');
    const { user } = (await world.acceptance.acceptLinked(ref, { tid: personalTenant, userId: parent })).person;
    expect(user).toMatchObject({ status: 'active', parentUserId: parent });
    const events = (await sequence(world)).filter(([type]) => type === 'UserClaimAdded');
    expect(events).toEqual([['UserClaimAdded', { AggregateId: person.user.id, ClaimType: 'sub', ClaimValue: parent }]]);
  });

  test('of many at once with accounts of their own, one is linked', async () => {
    const world = await acme();
    await using _ = world.t;
    const parents = await Promise.all(Array.from({ length: 10 }, (_, index) => personal(world, `me-${index}`)));
    const { invitation } = await world.invitations.createPerson(ALICE, { send: false, link: true });
    const ref = await refOf(world, invitation.id);
    const outcomes = await Promise.all(
      parents.map((userId) => codeOf(world.acceptance.acceptLinked(ref, { tid: personalTenant, userId }))),
    );
    expect(outcomes.filter((code) => code === undefined)).toHaveLength(1);
    expect(outcomes.filter((code) => code === 'invitation_over')).toHaveLength(9);
    const parent = parents[outcomes.indexOf(undefined)];
    expect((await world.users.findByUserName('alice@acme.test'))?.user.parentUserId).toBe(parent);
  });

  test('a family with an account in this tenant already is refused, and the link works again', async () => {
    const world = await acme();
    await using _ = world.t;
    const parent = await personal(world);
    const first = await world.invitations.createPerson(ALICE, { send: false, link: true });
    await world.acceptance.acceptLinked(await refOf(world, first.invitation.id), { tid: personalTenant, userId: parent });
    const second = await world.invitations.createPerson({ ...ALICE, user: { userName: 'again' } }, { send: false, link: true });
    const ref = await refOf(world, second.invitation.id);
    expect(await codeOf(world.acceptance.acceptLinked(ref, { tid: personalTenant, userId: parent }))).toBe('link_same_tenant');
    expect((await world.acceptance.open(ref))?.state).toBe('pending');
    const other = await personal(world, 'other');
    expect(await codeOf(world.acceptance.acceptLinked(ref, { tid: personalTenant, userId: other }))).toBeUndefined();
  });
});
