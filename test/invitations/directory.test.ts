/** Invitations in the directory: their creation, acceptance, revocation and lists. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from '../../adapters/memory/index.js';
import type { Delivery, Invitation, Person } from '../../lib/store/records/records.js';
import { withCollections } from '../store/with-collections.js';
import { keepLog } from '../support/service/kept-log.js';
import { codeOf } from '../support/service/test-directory.js';
import { backToPresent, passTime } from '../support/time/clock.js';
import { until } from '../support/time/until.js';
import { ALICE, acme, everything, PASSWORD, personalTenant, refOf, rules, sequence, type World } from './acme.js';

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
    ['invalid_record', { ...ALICE, givenName: 'a\nb' }, { send: true }],
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

    // A node crashed after the write of the row, before that of the person.
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

    // A node crashed after the write of the person’s document, before those of the password and the row.
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

  test.each([
    ['revoked', async ({ invitations }: World, id: string) => void (await invitations.revoke(id))],
    ['accepted', async (world: World, id: string) => void (await world.acceptance.accept(await refOf(world, id), PASSWORD))],
  ])('one that was %s needs nothing more when its person is erased at once, which is no failure', async (_, end) => {
    const { logger, logged } = keepLog();
    const world = await acme({ logger });
    await using __ = world.t;
    world.t.directory.onInvitationDue(async () => {});
    const { person, invitation } = await world.invitations.createPerson(ALICE, { send: false });
    await end(world, invitation.id);
    await world.persons.remove(person.id);
    passTime(3);
    const left = async () => (await world.t.store.collection<Delivery>('deliveries').find({})).filter(({ kind }) => kind === 'invitation');
    await until(async () => logged.length > 0 || (await left()).length === 0);
    expect(logged).toEqual([]);
  });

  test('one whose person is written late is sent all the same', async () => {
    const { logger, logged } = keepLog();
    const store = withCollections(memoryDirectory(), (rows, name) => ({
      async insert(row) {
        if (name === 'persons') {
          passTime(3);
          await until(() => logged.length > 0);
        }
        return rows.insert(row);
      },
    }));
    const world = await acme({ logger, store });
    await using _ = world.t;
    const due: string[] = [];
    world.t.directory.onInvitationDue(async ({ invitation }) => void due.push(invitation.id));
    const { invitation } = await world.invitations.createPerson(ALICE, { send: true });
    passTime(10);
    await until(() => due.length > 0);
    expect(due).toEqual([invitation.id]);
    expect(logged.map(([{ problem }]) => problem)).toEqual(['the person is not there yet']);
  });
});
