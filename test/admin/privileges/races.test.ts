/** Races between the comparison and the write: a person, a user or an account link is written only over the version that was compared. */
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import type { AdminAnswer } from '../../support/administration/admin.js';
import { type Target, useScenes, VAULT } from './scene.js';

const at = useScenes();
afterEach(() => {
  jest.restoreAllMocks();
});

/** Makes a change right after a comparison, whose result is from before. Returns a function that counts the comparisons. */
function meddle(method: 'mayBecome' | 'mayGrant' | 'mayTake' | 'checkNone', change: () => Promise<unknown>, after = 1): () => number {
  const { privileges } = at.service.idp.directory;
  const original = (privileges[method] as (...parameters: unknown[]) => Promise<unknown>).bind(privileges);
  let compared = 0;
  jest
    .spyOn(privileges as unknown as Record<string, (...parameters: unknown[]) => unknown>, method)
    .mockImplementation(async (...parameters) => {
      compared += 1;
      const isBefore = compared === after;
      const answer = await original(...parameters);
      if (isBefore) await change();
      return answer;
    });
  return () => compared;
}

const users = ({ tid }: Target) => at.service.idp.tenant(tid).users;
const intoVault = (target: Target) => users(target).addGroups(target.userId, { names: ['Vault'] });
const stored = async (target: Target) => (await at.service.idp.directory.accounts.findByOid(target.userId))?.person;
/** Creates an unlinked user without a privilege, in a tenant with a privileged group. */
async function unprivileged(): Promise<Target> {
  const target = await at.target('own');
  await users(target).removeGroups(target.userId, { names: ['Vault'] });
  return target;
}

const caller = () => at.caller('client', 'own');
const writes: Readonly<Record<string, (target: Target) => Promise<AdminAnswer>>> = {
  address: ({ tid, personId }) => caller().patch(`/tenants/${tid}/persons/${personId}`, { email: 'evil@evil.test' }),
  identity: ({ tid, userId }) =>
    caller().patch(`/tenants/${tid}/users/${userId}`, { externalIdentities: [{ idp: 'up', subject: userId }] }),
  enabling: ({ tid, userId }) => caller().post(`/tenants/${tid}/users/${userId}/enable`),
};

describe('a privilege that the user gets between the comparison and the write', () => {
  test.each(Object.entries(writes))('%s: is compared, and nothing is written', async (name, write) => {
    const target = await unprivileged();
    if (name === 'enabling') await users(target).disable(target.userId);
    const before = await stored(target);
    const compared = meddle('mayBecome', () => intoVault(target));
    expect((await write(target)).json.code).toBe('grant_exceeds_own');
    expect(compared()).toBe(2);
    const { email, user } = (await stored(target)) ?? {};
    expect([email, user?.externalIdentities, user?.status]).toEqual([before?.email, [], before?.user.status]);
  });

  test('of a linked child counts as granted after the write, because it is in another record', async () => {
    const { tid, personId, userId } = await at.target('nowhere');
    const elsewhere = at.service.idp.tenant(at.tids.Elsewhere ?? '');
    const child = await elsewhere.persons.create({ givenName: 'C', familyName: 'C', user: { userName: `c-${userId}`, status: 'active' } });
    const childId = child.user?.id ?? '';
    await elsewhere.linking.link(childId, { tid, userId });
    meddle('mayBecome', () => elsewhere.users.addGroups(childId, { names: ['Admins'] }));
    const path = `/tenants/${tid}/persons/${personId}`;
    expect((await at.caller('client', 'nowhere').patch(path, { email: 'first@evil.test' })).status).toBe(200);
    jest.restoreAllMocks();
    expect((await at.caller('client', 'nowhere').patch(path, { email: 'second@evil.test' })).json.code).toBe('grant_exceeds_own');
  });
});

describe('R-ORPHAN: a privilege that a child gets while its parent is removed', () => {
  // All children are compared before any write, and each child again before its link ends.
  test.each([1, 2])('after comparison %s: is compared, and nothing is removed', async (after) => {
    const { tid, personId, userId } = await at.target('nowhere');
    const elsewhere = at.service.idp.tenant(at.tids.Elsewhere ?? '');
    const child = await elsewhere.persons.create({ givenName: 'C', familyName: 'C', user: { userName: `o-${userId}`, status: 'active' } });
    const childId = child.user?.id ?? '';
    await elsewhere.linking.link(childId, { tid, userId });
    const compared = meddle('mayBecome', () => elsewhere.users.addGroups(childId, { names: ['Admins'] }), after);
    const { json } = await at.caller('client', 'nowhere').remove(`/tenants/${tid}/persons/${personId}`);
    expect([json.code, compared()]).toEqual(['grant_exceeds_own', after + 1]);
    expect((await elsewhere.users.require(childId)).user.parentUserId).toBe(userId);
    expect((await at.service.idp.tenant(tid).users.require(userId)).user.isParent).toBe(true);
  });
});

describe('R-RETURNS: a privilege that comes between the comparison and the write is not taken away', () => {
  const ofTarget = ({ tid, userId }: Target) => `/tenants/${tid}/users/${userId}/groups`;
  test.each([
    ['PUT', { ids: [] }],
    ['DELETE', { names: ['Vault'] }],
  ])('%s groups of a user', async (method, body) => {
    const target = await unprivileged();
    const compared = meddle('mayTake', () => intoVault(target));
    const { json } = await caller()(ofTarget(target), { method, body });
    expect([json.code, compared()]).toEqual(['grant_exceeds_own', 2]);
    expect((await stored(target))?.user.groupIds).toHaveLength(1);
  });

  test('a group that is removed', async () => {
    const { tid, userId } = await unprivileged();
    const { groups } = at.service.idp.tenant(tid);
    const { id } = await groups.create({ name: `R-${userId}`, permissionIds: ['orders.view'] });
    const compared = meddle('mayTake', () => groups.update(id, { permissionIds: [VAULT] }));
    const { json } = await caller().remove(`/tenants/${tid}/groups/${id}`);
    expect([json.code, compared()]).toEqual(['grant_exceeds_own', 2]);
    expect((await groups.require(id)).permissionIds).toEqual([VAULT]);
  });
});

describe('a link and a privilege at the same time', () => {
  async function parentOf({ userId }: Target) {
    const parents = at.tids.Parents ?? '';
    const made = await at.service.idp.tenant(parents).persons.create({
      givenName: 'P',
      familyName: 'P',
      user: { userName: `parent-of-${userId}`, status: 'active' },
    });
    return { tid: parents, userId: made.user?.id ?? '' };
  }

  test('a user who gets a privilege before the second step of the link is not linked', async () => {
    const target = await unprivileged();
    const parent = await parentOf(target);
    const judged = meddle('checkNone', () => intoVault(target));
    const answer = await caller().post(`/tenants/${target.tid}/users/${target.userId}/link/${parent.userId}`);
    expect([answer.json.code, judged()]).toEqual(['link_privileged', 2]);
    expect((await stored(target))?.user.parentUserId).toBeUndefined();
    // The parent is no longer marked as one.
    expect((await at.service.idp.tenant(parent.tid).users.require(parent.userId)).user.isParent).toBe(false);
  });

  test.each(['PUT', 'POST'])('a user who is linked before the write of %s groups gets no privilege', async (method) => {
    const target = await at.target('nowhere');
    const parent = await parentOf(target);
    const compared = meddle('mayGrant', () => at.service.idp.tenant(target.tid).linking.link(target.userId, parent));
    const path = `/tenants/${target.tid}/users/${target.userId}/groups`;
    const answer = await at.caller('client', 'nowhere')(path, { method, body: { names: ['Callers'] } });
    expect([answer.json.code, compared()]).toEqual(['all_tenants_required', 2]);
    expect((await stored(target))?.user).toMatchObject({ groupIds: [], parentUserId: parent.userId });
  });

  test('in any order of both, a linked user has no privilege, except from a caller of all tenants', async () => {
    for (let round = 0; round < 20; round += 1) {
      const target = await at.target('nowhere');
      const parent = await parentOf(target);
      const ask = at.caller('client', 'nowhere');
      const groups = `/tenants/${target.tid}/users/${target.userId}/groups`;
      const link = `/tenants/${target.tid}/users/${target.userId}/link/${parent.userId}`;
      const codes = await Promise.all([ask.post(groups, { names: ['Callers'] }), ask.post(link)]);
      const { user } = (await stored(target)) ?? {};
      expect([codes.filter(({ status }) => status === 200).length, user?.parentUserId === undefined || user.groupIds.length === 0]).toEqual(
        [1, true],
      );
    }
  });
});
