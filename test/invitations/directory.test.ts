import { afterEach, describe, expect, test } from '@jest/globals';
import type { DirectoryOptions } from '../../lib/directory/index.js';
import type { Invitation, Person } from '../../lib/store/records/records.js';
import { codeOf, type TestDirectory, testDirectory } from '../support/service/test-directory.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';

const ALICE = { givenName: 'Alice', familyName: 'Adams', email: 'alice@acme.test', user: { userName: 'alice@acme.test' } };
const PASSWORD = 'a password that is long';

const personalTenant = '0197a000-0000-7000-8000-00000000a001';
const rules = { hasMail: true, personalTenant, lifetimeSeconds: 86_400, urlOf: (token: string) => `https://idp.test/${token}` };

async function acme(options: Partial<DirectoryOptions> = {}) {
  const t = await testDirectory({ invitations: rules, ...options });
  const { id: tid } = await t.directory.tenants.create({ name: 'Acme' });
  await t.directory.tenants.create({ id: personalTenant, name: 'Personal' });
  await t.directory.clients.create({ id: 'portal', name: 'The portal' });
  return { t, tid, ...t.directory.forTenant(tid), acceptance: t.directory.acceptance };
}
type World = Awaited<ReturnType<typeof acme>>;

const refOf = async ({ invitations, acceptance }: World, id: string) => {
  const { url } = await invitations.link(id);
  const ref = acceptance.read(new URL(url).pathname.slice(1));
  if (!ref) throw new Error('the link is not one of ours');
  return ref;
};
const everything = async ({ store }: TestDirectory) =>
  (await Promise.all(['persons', 'invitations', 'credentials', 'deliveries'].map((name) => store.collection(name).find({})))).flat();
const sequence = async ({ t }: World) =>
  (await t.dispatched()).filter(({ type }) => /^(Person|User|Invitation)/.test(type)).map(({ type, data }) => [type, data]);

afterEach(backToPresent);

describe('4.12 POST Person has a flag that makes the service send an invitation', () => {
  test('person, user and invitation in one call: the invitation waits, and the user cannot sign in', async () => {
    const world = await acme();
    await using _ = world.t;
    const { person, invitation } = await world.invitations.createPerson(ALICE, { send: true });
    expect(person.user).toMatchObject({ status: 'invited', emailVerified: false });
    expect(invitation).toMatchObject({ personId: person.id, userId: person.user.id, status: 'pending', send: true, link: false });
    expect(invitation.expiresAt.getTime() - Date.now()).toBeGreaterThan(86_390_000);
    expect(await world.t.directory.accounts.candidates('alice@acme.test')).toEqual([]);
    expect(await world.invitations.list()).toEqual({ items: [invitation] });
  });

  test.each([
    ['user_required', { ...ALICE, user: undefined }, { send: true }],
    ['user_not_invited', { ...ALICE, user: { userName: 'a', status: 'active' as const } }, { send: false }],
    ['email_required', { ...ALICE, email: undefined }, { send: true }],
    ['client_unknown', ALICE, { send: true, clientId: 'nobody' }],
    ['invalid_record', { ...ALICE, givenName: '' }, { send: true }],
    ['invalid_record', ALICE, { send: true, locale: 'not a tag' }],
    ['group_unknown', { ...ALICE, user: { userName: 'a', groups: { names: ['none'] } } }, { send: true }],
  ])('%s: nothing is written', async (code, person, input) => {
    const world = await acme();
    await using _ = world.t;
    expect(await codeOf(world.invitations.createPerson(person as never, input))).toBe(code);
    expect(await everything(world.t)).toEqual([]);
  });

  test('without mail nothing is sent, without a personal tenant nothing is linked: nothing is written either', async () => {
    const world = await acme({ invitations: { ...rules, hasMail: false, personalTenant: undefined } });
    await using _ = world.t;
    const { invitations } = world;
    expect(await codeOf(invitations.createPerson(ALICE, { send: true }))).toBe('mail_not_configured');
    expect(await codeOf(invitations.createPerson(ALICE, { send: false, link: true }))).toBe('personal_tenant_missing');
    expect(await everything(world.t)).toEqual([]);
    expect((await invitations.createPerson(ALICE, { send: false })).invitation.send).toBe(false);
  });

  test('an active user is not invited; an invited one gets another invitation, in the place of the first', async () => {
    const world = await acme();
    await using _ = world.t;
    const { invitations, users } = world;
    const { invitation, person } = await invitations.createPerson(ALICE, { send: false });
    const second = await invitations.create(person.user.id, { send: false });
    expect([(await invitations.require(invitation.id)).status, second.status]).toEqual(['revoked', 'pending']);
    await users.activate(person.user.id);
    expect(await codeOf(invitations.create(person.user.id, { send: false }))).toBe('user_not_invited');
  });

  test('a personal account is of the personal tenant: it cannot be linked to another there', async () => {
    const world = await acme();
    await using _ = world.t;
    const there = world.t.directory.forTenant(personalTenant).invitations;
    expect(await codeOf(there.createPerson(ALICE, { send: false, link: true }))).toBe('link_same_tenant');
  });
});

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

describe('only acceptance activates', () => {
  test('of fifty acceptances at once one succeeds, and its password is the user’s', async () => {
    const world = await acme();
    await using _ = world.t;
    const { invitation } = await world.invitations.createPerson(ALICE, { send: false });
    const ref = await refOf(world, invitation.id);
    const passwords = Array.from({ length: 50 }, (_, index) => `the password of number ${index}`);
    const outcomes = await Promise.all(passwords.map((password) => codeOf(world.acceptance.accept(ref, password))));
    const winners = passwords.filter((_, index) => outcomes[index] === undefined);
    expect([winners.length, outcomes.filter((code) => code === 'invitation_over').length]).toEqual([1, 49]);
    const candidates = await world.t.directory.accounts.candidates('alice@acme.test');
    const { credentials } = world.t.directory;
    expect(await credentials.checkPassword(candidates, winners[0] as string)).toHaveLength(1);
    expect(await world.t.store.collection('credentials').find({})).toHaveLength(1);
    expect((await world.invitations.require(invitation.id)).status).toBe('accepted');
    expect((await sequence(world)).filter(([type]) => type === 'UserRegistered')).toHaveLength(1);
  });

  test('a password that the rules refuse changes nothing', async () => {
    const world = await acme();
    await using _ = world.t;
    const { invitation } = await world.invitations.createPerson(ALICE, { send: false });
    const ref = await refOf(world, invitation.id);
    expect(await codeOf(world.acceptance.accept(ref, 'short'))).toBe('invalid_record');
    expect(await codeOf(world.acceptance.accept(ref, undefined))).toBe('invitation_over');
    expect((await world.acceptance.open(ref))?.state).toBe('pending');
    expect(await world.t.store.collection('credentials').find({})).toEqual([]);
  });

  test('revoking after acceptance is refused, and revoking twice is revoking once', async () => {
    const world = await acme();
    await using _ = world.t;
    const { invitation } = await world.invitations.createPerson(ALICE, { send: false });
    await world.acceptance.accept(await refOf(world, invitation.id), PASSWORD);
    expect(await codeOf(world.invitations.revoke(invitation.id))).toBe('invitation_over');
    expect(await codeOf(world.invitations.resend(invitation.id))).toBe('invitation_over');
    const other = await world.invitations.createPerson({ ...ALICE, user: { userName: 'bob' } }, { send: false });
    await world.invitations.revoke(other.invitation.id);
    expect((await world.invitations.revoke(other.invitation.id)).status).toBe('revoked');
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

describe('Events 2: events carry ClientId and ClientName exactly when the invitation carries clientId', () => {
  test('those of the creation, and those of the registration', async () => {
    const world = await acme();
    await using _ = world.t;
    const client = { ClientId: 'portal', ClientName: 'The portal' };
    const withClient = await world.invitations.createPerson(ALICE, { send: false, clientId: 'portal' });
    await world.acceptance.accept({ id: withClient.invitation.id, serial: 1 }, PASSWORD);
    const without = await world.invitations.createPerson({ ...ALICE, user: { userName: 'bob' } }, { send: false });
    await world.acceptance.accept({ id: without.invitation.id, serial: 1 }, PASSWORD);
    const events = await sequence(world);
    expect(events.map(([type]) => type)).toEqual([
      ...['PersonCreated', 'UserCreated', 'UserInvited', 'UserRegistered'],
      ...['PersonCreated', 'UserCreated', 'UserInvited', 'UserRegistered'],
    ]);
    const metadata = events.map(([, data]) => (data as { metadata?: unknown }).metadata);
    expect(metadata).toEqual([client, client, client, client, undefined, undefined, undefined, undefined]);
  });

  test('a link keeps the metadata of its invitation in UserClaimAdded', async () => {
    const world = await acme();
    await using _ = world.t;
    const parent = await world.t.directory
      .forTenant(personalTenant)
      .persons.create({ ...ALICE, user: { userName: 'me', status: 'active' } });
    const { invitation } = await world.invitations.createPerson(ALICE, { send: false, link: true, clientId: 'portal' });
    await world.acceptance.acceptLinked({ id: invitation.id, serial: 1 }, { tid: personalTenant, userId: parent.user?.id as string });
    const [, data] = (await sequence(world)).find(([type]) => type === 'UserClaimAdded') ?? [];
    expect(data).toMatchObject({ metadata: { ClientId: 'portal', ClientName: 'The portal' } });
  });

  test('fetching and revoking raise events of their own', async () => {
    const world = await acme();
    await using _ = world.t;
    const { invitation, person } = await world.invitations.createPerson(ALICE, { send: false });
    await world.invitations.link(invitation.id);
    await world.invitations.revoke(invitation.id);
    const about = { AggregateId: invitation.id, UserId: person.user.id };
    expect((await sequence(world)).slice(3)).toEqual([
      ['InvitationLinkFetched', about],
      ['InvitationRevoked', about],
    ]);
  });
});

describe('lists', () => {
  test('by status, person and user, page by page', async () => {
    const world = await acme();
    await using _ = world.t;
    const { invitations } = world;
    const made: { readonly id: string; readonly personId: string; readonly userId: string }[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e'])
      made.push((await invitations.createPerson({ ...ALICE, user: { userName: name } }, { send: false })).invitation);
    await invitations.revoke(made[1]?.id as string);
    const ids = (items: readonly { readonly id: string }[]) => items.map(({ id }) => id);
    const pending = [0, 2, 3, 4].map((index) => made[index]?.id);
    expect(ids((await invitations.list({ status: 'pending' })).items)).toEqual(pending);
    expect(ids((await invitations.list({ status: 'revoked' })).items)).toEqual([made[1]?.id]);
    expect(ids((await invitations.list({ personId: made[2]?.personId as string })).items)).toEqual([made[2]?.id]);
    expect(ids((await invitations.list({ userId: made[2]?.userId as string })).items)).toEqual([made[2]?.id]);
    const first = await invitations.list({ status: 'pending', limit: 3 });
    const rest = await invitations.list({ status: 'pending', limit: 3, after: first.next as string });
    expect([ids(first.items), ids(rest.items), rest.next]).toEqual([pending.slice(0, 3), pending.slice(3), undefined]);
    expect(ids((await invitations.list({ sort: '-createdAt', limit: 2 })).items)).toEqual([made[4]?.id, made[3]?.id]);
    expect(await codeOf(invitations.list({ after: 'ä' }))).toBe('invalid_cursor');
    expect(await codeOf(invitations.list({ status: 'revoked', after: first.next as string }))).toBe('invalid_cursor');
    expect(await codeOf(invitations.list({ limit: 0 }))).toBe('invalid_request');
  });

  test('what is no invitation of the list, between those that are, shortens no page', async () => {
    const world = await acme();
    await using _ = world.t;
    const { invitations, t } = world;
    const made: string[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f'])
      made.push((await invitations.createPerson({ ...ALICE, user: { userName: name } }, { send: false })).invitation.id);
    const rows = t.store.collection<Invitation>('invitations');
    for (const id of made.slice(1, 5)) await rows.update(id, (row) => ({ ...row, expiresAt: new Date(Date.now() - 1000) }));
    const pages: string[][] = [];
    for (let after: string | undefined; ; ) {
      const { items, next } = await invitations.list({ status: 'pending', limit: 1, ...(after !== undefined && { after }) });
      pages.push(items.map(({ id }) => id));
      after = next;
      if (after === undefined) break;
    }
    expect(pages).toEqual([[made[0]], [made[5]]]);
    expect((await invitations.list({ status: 'expired' })).items.map(({ id }) => id)).toEqual(made.slice(1, 5));
  });
});

describe('design 7: an invitation without its person is invalid, and nothing stays half done', () => {
  test('what a crash left between the writes is swept away, or finished', async () => {
    const world = await acme();
    await using _ = world.t;
    const { store, directory } = world.t;
    const due: unknown[] = [];
    directory.onInvitationDue(async ({ invitation, url }) => void due.push([invitation.id, url]));
    const { person, invitation } = await world.invitations.createPerson(ALICE, { send: true });
    await until(() => due.length === 1);
    expect(due).toEqual([[invitation.id, (await world.invitations.link(invitation.id)).url]]);

    // A node died after the row, before the person.
    const orphan = { ...(await store.collection<Invitation>('invitations').get(invitation.id)), id: person.id, personId: invitation.id };
    await store.collection('invitations').insert(orphan as never);
    expect([await world.invitations.get(orphan.id), (await world.invitations.list()).items.length]).toEqual([undefined, 1]);
    const old = new Date(Date.now() - 120_000);
    const deliver = (id: string, data: object) => {
      const delivery = { id, kind: 'invitation', data, state: 'waiting', attempts: 0, due: old, createdAt: old, updatedAt: old };
      return store.collection('deliveries').insert(delivery as never);
    };
    await deliver('0197a000-0000-7000-8000-000000000000', { id: orphan.id });
    await until(async () => (await store.collection('invitations').get(orphan.id)) === undefined);

    // A node died after the person’s document, before the password and the row.
    const credentialId = '0197a000-0000-7000-8000-00000000c001';
    await directory.credentials.setFirstPassword({ id: credentialId, userName: 'alice@acme.test' }, PASSWORD);
    await store.collection<Person>('persons').update(person.id, (row) => {
      const { invitation: __, ...user } = row.user as NonNullable<Person['user']>;
      return { ...row, user: { ...user, status: 'active' as const, accepted: { id: invitation.id, at: new Date(), credentialId } } };
    });
    await deliver('0197a000-0000-7000-8000-000000000001', { id: invitation.id, credentialId });
    await until(async () => (await world.invitations.require(invitation.id)).status === 'accepted');
    const candidates = await directory.accounts.candidates('alice@acme.test');
    expect(await directory.credentials.checkPassword(candidates, PASSWORD)).toHaveLength(1);
    expect(await store.collection('credentials').get(credentialId)).toBeUndefined();
  });

  test('erasure takes the invitations of the person along', async () => {
    const world = await acme();
    await using _ = world.t;
    const { person } = await world.invitations.createPerson(ALICE, { send: false });
    await world.persons.remove(person.id);
    expect(await world.t.store.collection('invitations').find({})).toEqual([]);
  });
});
