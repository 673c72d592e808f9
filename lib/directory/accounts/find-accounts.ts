import { present } from '../../present.js';
import { leftOutOf, withLeftOut } from '../../store/records/left-out.js';
import type { Group, PersonWithUser, Subsidiary, Tenant } from '../../store/records/records.js';
import type { DirectoryContext } from '../context.js';
import { isId, userNameKey } from '../identifiers.js';
import { accountEmailOf, provenEmailOf } from '../persons/email-addresses.js';
import { externalIdentityKey, hasUser } from '../persons/user-record.js';
import { readMany } from '../read-many.js';
import { type PolicyWatch, unmetPolicy } from '../tenants/sign-in-policy.js';
import type { Tenants } from '../tenants/tenants.js';
import { type Account, type Accounts, isUsable } from './accounts.js';
import { createCandidates } from './candidates.js';

export function createAccounts({ collections, caches, means }: DirectoryContext, tenants: Tenants, policies: PolicyWatch): Accounts {
  const { persons, groups: allGroups } = collections;
  const groups = caches.rows<Group>('groups');
  const { permissions } = collections;
  /** Ids of all permissions, unreadable ones included. */
  const catalogue = caches.over<ReadonlySet<string>>(['permissions'], async () => {
    const all = await permissions.withUnreadable().find({});
    return new Set(all.map(({ id }) => id));
  });
  const storedMemberships = caches.over<readonly Group[]>(['groups'], async (key) => {
    const [tid, ...ids] = JSON.parse(key) as [string, ...string[]];
    const found = await readMany(ids, { one: groups.get, all: () => allGroups.find({ byTenant: [tid] }), keyOf: ({ id }) => id });
    return found.flatMap((group) => (group?.tid === tid ? group : []));
  });
  const memberships = caches.over<readonly Group[]>(['groups', 'permissions'], async (key) => {
    const [stored = [], known] = await Promise.all([storedMemberships.get(key), catalogue.get('all')]);
    return stored.map((group) => {
      const permissionIds = group.permissionIds.filter((id) => known?.has(id));
      return permissionIds.length === group.permissionIds.length ? group : { ...group, permissionIds };
    });
  });
  const subsidiaries = caches.rows<Subsidiary>('subsidiaries');

  const accountOf = (person: PersonWithUser, tenant: Tenant): Account | Promise<Account> => {
    if (tenant.signIn === undefined) return { person, tenant };
    const judged = (reason: string | undefined): Account => {
      policies.wanted(tenant, reason);
      return { person, tenant, ...present({ unmetPolicy: reason }) };
    };
    const reason = unmetPolicy(tenant, means);
    return reason instanceof Promise ? reason.then(judged) : judged(reason);
  };
  /** Without the owner. */
  const ownAccounts = async (rows: readonly (PersonWithUser | undefined)[]): Promise<readonly Account[]> => {
    const found = await Promise.all(
      rows.map(async (person) => {
        const tenant = person && (await tenants.get(person.tid));
        return tenant ? [await accountOf(person, tenant)] : [];
      }),
    );
    return found.flat();
  };
  const byOid = (oid: string) => persons.find({ byUser: [oid] }).then((found) => found.filter(hasUser));

  /** Reads each parent that is not among the rows once, and nothing where no row is of a linked account. */
  const accounts = async (rows: readonly (PersonWithUser | undefined)[]): Promise<readonly Account[]> => {
    const found = await ownAccounts(rows);
    const parents = new Set(found.flatMap(({ person: { user } }) => user.parentUserId ?? []));
    if (parents.size === 0) return found;
    const known = new Map(found.map((account) => [account.person.user.id, account]));
    const others = await Promise.all([...parents].filter((id) => !known.has(id)).map(byOid));
    for (const account of await ownAccounts(others.flat())) known.set(account.person.user.id, account);
    return found.map((account) => {
      const { parentUserId } = account.person.user;
      const owner = parentUserId === undefined ? undefined : known.get(parentUserId);
      return owner ? { ...account, owner } : account;
    });
  };

  const findByOid: Accounts['findByOid'] = async (oid) => {
    const person = isId(oid) ? (await persons.find({ byUser: [oid] })).find(hasUser) : undefined;
    if (person?.user.parentUserId !== undefined) return (await accounts([person]))[0];
    const tenant = person && (tenants.peek(person.tid) ?? (await tenants.get(person.tid)));
    return tenant && accountOf(person, tenant);
  };

  const family: Accounts['family'] = async (person) => {
    const { id, parentUserId, isParent } = person.user;
    if (parentUserId === undefined && !isParent) return accounts([person]);
    const root = parentUserId ?? id;
    const [parent, children] = await Promise.all([
      parentUserId === undefined ? [person] : byOid(parentUserId),
      persons.find({ byParent: [root] }),
    ]);
    const others = [...parent, ...children.filter(hasUser)].filter(({ user }) => user.id !== id);
    return withLeftOut(await accounts([person, ...others]), leftOutOf(children));
  };

  const subsidiary: Accounts['subsidiary'] = ({ tid, subsidiaryId }) => {
    if (subsidiaryId === undefined) return undefined;
    const own = (found: Subsidiary | undefined) => (found?.tid === tid ? found : undefined);
    const kept = subsidiaries.peek(subsidiaryId);
    return kept ? own(kept) : subsidiaries.get(subsidiaryId).then(own);
  };

  const groupsBy =
    (cache: typeof memberships): Accounts['groups'] =>
    ({ tid, user: { groupIds } }) => {
      const key = JSON.stringify([tid, ...groupIds]);
      return cache.peek(key) ?? cache.get(key).then((groups) => groups ?? []);
    };

  return {
    ...createCandidates({ persons, accounts, findByOid, subsidiary }),
    findByOid,
    family,

    async ofIdentity(identity) {
      return accounts((await persons.find({ byExternalIdentity: [externalIdentityKey(identity)] })).filter(hasUser));
    },

    async isIdentityHidden(identity) {
      const all = persons.withUnreadable();
      const found = await all.find({ byExternalIdentity: [externalIdentityKey(identity)] });
      return !found.every(all.isReadable);
    },

    async named(id) {
      const account = await findByOid(id);
      if (!account) return [];
      const all = account.person.user.isParent ? await family(account.person) : [account];
      return all.filter((one) => isUsable(one));
    },

    nameKey: userNameKey,

    subsidiary,

    groups: groupsBy(memberships),
    storedGroups: groupsBy(storedMemberships),
    emailOf: accountEmailOf,
    provenEmailOf,
  };
}
