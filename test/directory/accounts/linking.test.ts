import { describe, expect, test } from '@jest/globals';
import { memoryDirectory } from '../../../adapters/memory/index.js';
import type { Directory } from '../../../lib/directory/index.js';
import type { Person } from '../../../lib/store/records/records.js';
import { codeOf, tenantWithUser, testDirectory, userIn } from '../../support/service/test-directory.js';
import { jitteryDirectory, seededRandom } from '../../support/stores/jittery-directory.js';

const linkingOf = (directory: Directory, tid: string) => directory.forTenant(tid).linking;

async function threeTenants(directory: Directory) {
  const acme = await tenantWithUser(directory, 'Acme', 'alice');
  const globex = await tenantWithUser(directory, 'Globex', 'alice');
  const initech = await tenantWithUser(directory, 'Initech', 'alice');
  return { acme, globex, initech };
}

describe('linking (design §3, H4)', () => {
  test('a link makes child and parent, and raises UserClaimAdded as the specification has it', async () => {
    await using t = await testDirectory();
    const { acme, globex } = await threeTenants(t.directory);
    const child = await linkingOf(t.directory, globex.tid).link(globex.userId, acme);
    expect(child.user).toMatchObject({ id: globex.userId, parentUserId: acme.userId, isParent: false });
    expect(child.user.notBefore).toBeUndefined();
    const parent = await t.directory.forTenant(acme.tid).users.require(acme.userId);
    expect(parent.user).toMatchObject({ isParent: true });
    expect((await t.dispatchedOfPersons()).filter(({ type }) => type === 'UserClaimAdded')).toMatchObject([
      {
        subject: globex.userId,
        data: { AggregateId: globex.userId, ClaimType: 'sub', ClaimValue: acme.userId },
      },
    ]);
  });

  test('linking again changes nothing and raises nothing', async () => {
    await using t = await testDirectory();
    const { acme, globex } = await threeTenants(t.directory);
    const linking = linkingOf(t.directory, globex.tid);
    await linking.link(globex.userId, acme);
    await t.dispatchedOfPersons();
    const before = await t.store.collection('persons').find({});
    await Promise.all(Array.from({ length: 5 }, () => linking.link(globex.userId, acme)));
    expect(await t.store.collection('persons').find({})).toEqual(before);
    expect((await t.dispatchedOfPersons()).filter(({ type }) => type === 'UserClaimAdded')).toHaveLength(1);
  });

  test('50 links of one child at once raise one event', async () => {
    await using t = await testDirectory({ store: jitteryDirectory(memoryDirectory(), seededRandom(7)) });
    const { acme, globex } = await threeTenants(t.directory);
    const linking = linkingOf(t.directory, globex.tid);
    await Promise.all(Array.from({ length: 50 }, () => linking.link(globex.userId, acme)));
    expect((await t.dispatchedOfPersons()).filter(({ type }) => type === 'UserClaimAdded')).toHaveLength(1);
  });

  test('no self-link, no chain in either direction, no second parent, one account per tenant', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    const { acme, globex, initech } = await threeTenants(directory);
    const second = { tid: globex.tid, ...(await userIn(directory, globex.tid, 'second')) };
    const sibling = { tid: acme.tid, ...(await userIn(directory, acme.tid, 'sibling')) };
    await linkingOf(directory, globex.tid).link(globex.userId, acme);
    const link = (child: typeof acme, parent: typeof acme) => codeOf(linkingOf(directory, child.tid).link(child.userId, parent));
    expect(await link(acme, acme)).toBe('link_self');
    expect(await link(initech, globex)).toBe('link_chain');
    expect(await link(acme, initech)).toBe('link_chain');
    expect(await link(globex, initech)).toBe('already_linked');
    expect(await link(second, acme)).toBe('link_same_tenant');
    expect(await link(sibling, acme)).toBe('link_same_tenant');
    expect(await link(initech, { ...acme, userId: '00000000-0000-7000-8000-000000000000' })).toBe('not_found');
    expect(await link(initech, { ...acme, tid: globex.tid })).toBe('not_found');
    expect((await t.store.collection<Person>('persons').get(acme.personId))?.user?.childUserIds).toEqual([globex.userId]);
  });

  test('unlinking takes the claim back, voids the sign-ins of the child, and frees the parent after the last', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    const { acme, globex, initech } = await threeTenants(directory);
    await linkingOf(directory, globex.tid).link(globex.userId, acme);
    await linkingOf(directory, initech.tid).link(initech.userId, acme);
    const parent = async () => (await directory.forTenant(acme.tid).users.require(acme.userId)).user;

    const child = await linkingOf(directory, globex.tid).unlink(globex.userId, acme.userId);
    expect(child.user.parentUserId).toBeUndefined();
    expect(child.user.notBefore).toBeInstanceOf(Date);
    expect(await parent()).toMatchObject({ isParent: true });
    await linkingOf(directory, initech.tid).unlink(initech.userId, acme.userId);
    expect(await parent()).toMatchObject({ isParent: false });
    expect((await t.dispatchedOfPersons()).filter(({ type }) => type === 'UserClaimRemoved')).toMatchObject([
      { data: { AggregateId: globex.userId, ClaimType: 'sub', ClaimValue: acme.userId } },
      { data: { AggregateId: initech.userId, ClaimType: 'sub', ClaimValue: acme.userId } },
    ]);
    expect(await codeOf(linkingOf(directory, globex.tid).unlink(globex.userId, acme.userId))).toBe('not_linked');
  });

  test('an entry that a crash left in the list keeps nobody from linking', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    const { acme, globex } = await threeTenants(directory);
    await t.store.collection<Person>('persons').update(globex.personId, (row) => ({
      ...row,
      user: { ...row.user!, isParent: true, childUserIds: [acme.userId] },
    }));
    const child = await linkingOf(directory, globex.tid).link(globex.userId, acme);
    expect(child.user).toMatchObject({ parentUserId: acme.userId, isParent: false });
  });

  test('erasing a parent unlinks its children, and erasing a child frees its parent', async () => {
    await using t = await testDirectory();
    const { directory } = t;
    const { acme, globex, initech } = await threeTenants(directory);
    await linkingOf(directory, globex.tid).link(globex.userId, acme);
    await linkingOf(directory, initech.tid).link(initech.userId, acme);
    await directory.forTenant(initech.tid).persons.remove(initech.personId);
    await directory.forTenant(acme.tid).persons.remove(acme.personId);
    const left = await directory.forTenant(globex.tid).users.require(globex.userId);
    expect(left.user.parentUserId).toBeUndefined();
    const erased = (await t.dispatchedOfPersons()).filter(({ type }) => type === 'PersonErased');
    expect(erased.map(({ subject }) => subject).sort()).toEqual([initech.personId, acme.personId].sort());
    expect((await t.store.collection('persons').find({})).map(({ id }) => id)).toEqual([globex.personId]);
  });

  test.each([1, 2, 3, 4, 5, 6])('random links, unlinks and erasures at once never break a rule (round %i)', async (seed) => {
    const random = seededRandom(seed);
    const store = memoryDirectory();
    await using t = await testDirectory({ store: jitteryDirectory(store, random) });
    const { directory } = t;
    const users: { tid: string; userId: string; personId: string }[] = [];
    for (const name of ['a', 'b', 'c', 'd']) {
      const first = await tenantWithUser(directory, name, `${name}1`);
      users.push(first, { tid: first.tid, ...(await userIn(directory, first.tid, `${name}2`)) });
    }
    const pick = () => users[Math.floor(random() * users.length)]!;
    const rules: string[] = [];
    let watching = true;
    const watch = (async () => {
      while (watching) {
        // Reads the table in one step, so that it sees what a reader could see at this moment.
        rules.push(...broken(await store.collection<Person>('persons').find({})));
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const expected = new Set(['link_self', 'link_chain', 'link_same_tenant', 'already_linked', 'not_linked', 'not_found']);
    const act = async () => {
      for (let step = 0; step < 30; step += 1) {
        const [child, parent] = [pick(), pick()];
        const linking = linkingOf(directory, child.tid);
        const code =
          random() < 0.55 ? await codeOf(linking.link(child.userId, parent)) : await codeOf(linking.unlink(child.userId, parent.userId));
        if (code !== undefined && !expected.has(code)) rules.push(code);
      }
    };
    await Promise.all([...Array.from({ length: 8 }, act), directory.forTenant(users[0]!.tid).persons.remove(users[0]!.personId)]);
    watching = false;
    await watch;
    expect(rules).toEqual([]);

    const events = (await t.dispatchedOfPersons()).filter(({ type }) => type.startsWith('UserClaim'));
    for (const person of await store.collection<Person>('persons').find({})) {
      const { id, parentUserId, isParent } = person.user!;
      const told = events.filter(({ subject }) => subject === id).map(({ type }) => type);
      // Added and removed alternate, and the last event matches the present state.
      expect(told).toEqual(told.map((_, index) => (index % 2 === 0 ? 'UserClaimAdded' : 'UserClaimRemoved')));
      expect(told.length % 2 === 1).toBe(parentUserId !== undefined);
      const children = await store.collection<Person>('persons').find({ byParent: [id] });
      expect({ id, isParent }).toEqual({ id, isParent: children.length > 0 });
    }
  });
});

/** Returns the rules of design §3 that are broken. */
function broken(persons: readonly Person[]): string[] {
  const users = new Map(persons.flatMap((person) => (person.user ? [[person.user.id, person]] : [])));
  const families = new Set<string>();
  return [...users.values()].flatMap(({ tid, user }) => {
    if (user?.parentUserId === undefined) return [];
    const parent = users.get(user.parentUserId);
    const place = `${user.parentUserId} ${tid}`;
    const problems = [
      user.parentUserId === user.id && 'self-link',
      user.isParent && 'a parent has a parent',
      parent === undefined && 'no such parent',
      parent?.user?.parentUserId !== undefined && 'chain',
      parent?.user?.isParent === false && 'not marked as parent',
      (parent?.tid === tid || families.has(place)) && 'two accounts in a tenant',
    ];
    families.add(place);
    return problems.filter((problem) => problem !== false);
  });
}
