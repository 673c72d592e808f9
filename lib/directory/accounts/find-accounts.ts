import { type Awaitable, onceThere } from '../../awaitable.js';
import { present } from '../../present.js';
import { createBounded } from '../../store/caches/bounded.js';
import type { Cached } from '../../store/caches/cache.js';
import { leftOutOf, withLeftOut } from '../../store/records/left-out.js';
import type { ExternalIdentity, Group, Person, PersonWithUser, Subsidiary, Tenant } from '../../store/records/records.js';
import type { DirectoryContext } from '../context.js';
import { isId, userNameKey } from '../identifiers.js';
import { accountEmailOf, provenEmailOf } from '../persons/email-addresses.js';
import { externalIdentityKey, hasUser } from '../persons/user-record.js';
import { readMany } from '../read-many.js';
import { type PolicyWatch, unmetPolicy } from '../tenants/sign-in-policy.js';
import type { Tenants } from '../tenants/tenants.js';
import { type Account, type Accounts, isUsable } from './accounts.js';
import { createCandidates } from './candidates.js';
import type { RecentCutoffs } from './recent-cutoffs.js';

export function createAccounts(
  context: DirectoryContext,
  tenants: Tenants,
  policies: PolicyWatch,
  cutoffs: Pick<RecentCutoffs, 'mayInclude'>,
): Accounts {
  const { persons } = context.collections;
  const stored = new StoredAccounts({ persons, tenants, policies, means: context.means });
  const recent = new RecentAccounts(stored, context.caches.rows<Person>('persons'), cutoffs);
  const findByOid: Accounts['findByOid'] = (oid) => stored.findByOid(oid);
  const subsidiary = createSubsidiaryLookup(context.caches);
  return {
    ...createCandidates({ persons, accounts: (rows) => stored.ofRows(rows), findByOid, subsidiary }),
    findByOid,
    family: (person) => stored.family(person),
    ofIdentity: (identity) => stored.ofIdentity(identity),
    isIdentityHidden: (identity) => stored.isIdentityHidden(identity),
    named: (id) => stored.named(id),
    recentByOid: (oid) => recent.findByOid(oid),
    recentNamed: (id) => recent.named(id),
    nameKey: userNameKey,
    subsidiary,
    ...createGroupLookups(context),
    emailOf: accountEmailOf,
    provenEmailOf,
  };
}

interface Parts extends Pick<DirectoryContext, 'means'> {
  readonly persons: DirectoryContext['collections']['persons'];
  readonly tenants: Tenants;
  readonly policies: PolicyWatch;
}

/** Rows of persons, some of which a look-up did not find. */
type Rows = readonly (PersonWithUser | undefined)[];

class StoredAccounts {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Returns the account of a row without its owner; undefined without its tenant. Returns a promise only if something has to be read. */
  withoutOwner(person: PersonWithUser): Awaitable<Account | undefined> {
    const tenant = this.#parts.tenants.peek(person.tid) ?? this.#parts.tenants.get(person.tid);
    return onceThere(tenant, (found) => found && this.#accountOf(person, found));
  }

  #accountOf(person: PersonWithUser, tenant: Tenant): Account | Promise<Account> {
    if (tenant.signIn === undefined) return { person, tenant };
    const { policies, means } = this.#parts;
    const judged = (reason: string | undefined): Account => {
      policies.wanted(tenant, reason);
      return { person, tenant, ...present({ unmetPolicy: reason }) };
    };
    const reason = unmetPolicy(tenant, means);
    return reason instanceof Promise ? reason.then(judged) : judged(reason);
  }

  /** Returns the accounts of the rows without their owners. */
  async #withoutOwners(rows: Rows): Promise<readonly Account[]> {
    const accounts = await Promise.all(
      rows.map(async (person) => {
        const tenant = person && (await this.#parts.tenants.get(person.tid));
        return tenant ? [await this.#accountOf(person, tenant)] : [];
      }),
    );
    return accounts.flat();
  }

  async rowOf(userId: string): Promise<PersonWithUser | undefined> {
    return (await this.#rowsOfUser(userId))[0];
  }

  async #rowsOfUser(userId: string): Promise<readonly PersonWithUser[]> {
    return (await this.#parts.persons.find({ byUser: [userId] })).filter(hasUser);
  }

  /**
   * Returns the accounts of the rows. Each parent account that is not among the rows is read once. Without linked accounts, nothing else is
   * read.
   */
  async ofRows(rows: Rows): Promise<readonly Account[]> {
    const accounts = await this.#withoutOwners(rows);
    const parentIds = new Set(accounts.flatMap(({ person: { user } }) => user.parentUserId ?? []));
    if (parentIds.size === 0) return accounts;
    const byUserId = new Map(accounts.map((account) => [account.person.user.id, account]));
    const parents = await Promise.all([...parentIds].filter((id) => !byUserId.has(id)).map((id) => this.#rowsOfUser(id)));
    for (const account of await this.#withoutOwners(parents.flat())) byUserId.set(account.person.user.id, account);
    return accounts.map((account) => {
      const { parentUserId } = account.person.user;
      const owner = parentUserId === undefined ? undefined : byUserId.get(parentUserId);
      return owner ? { ...account, owner } : account;
    });
  }

  async findByOid(oid: string): Promise<Account | undefined> {
    const person = isId(oid) ? await this.rowOf(oid) : undefined;
    if (person?.user.parentUserId !== undefined) return (await this.ofRows([person]))[0];
    return person && this.withoutOwner(person);
  }

  async family(person: PersonWithUser): Promise<readonly Account[]> {
    const { id, parentUserId, isParent } = person.user;
    if (parentUserId === undefined && !isParent) return this.ofRows([person]);
    const [parent, children] = await Promise.all([
      parentUserId === undefined ? [person] : this.#rowsOfUser(parentUserId),
      this.#parts.persons.find({ byParent: [parentUserId ?? id] }),
    ]);
    const others = [...parent, ...children.filter(hasUser)].filter(({ user }) => user.id !== id);
    return withLeftOut(await this.ofRows([person, ...others]), leftOutOf(children));
  }

  async ofIdentity(identity: ExternalIdentity): Promise<readonly Account[]> {
    const rows = await this.#parts.persons.find({ byExternalIdentity: [externalIdentityKey(identity)] });
    return this.ofRows(rows.filter(hasUser));
  }

  async isIdentityHidden(identity: ExternalIdentity): Promise<boolean> {
    const persons = this.#parts.persons.withUnreadable();
    const rows = await persons.find({ byExternalIdentity: [externalIdentityKey(identity)] });
    return !rows.every(persons.isReadable);
  }

  async named(id: string): Promise<readonly Account[]> {
    const account = await this.findByOid(id);
    if (!account) return [];
    const accounts = account.person.user.isParent ? await this.family(account.person) : [account];
    return accounts.filter((each) => isUsable(each));
  }
}

/** Maximum users whose persons are remembered, as many as the cache has rows. */
const MAX_USERS = 10_000;

/** Accounts from cached rows. */
class RecentAccounts {
  readonly #stored: StoredAccounts;
  readonly #rows: Cached<Person>;
  readonly #cutoffs: Pick<RecentCutoffs, 'mayInclude'>;
  /** Ids of persons, by the ids of their users. The row itself decides whether the person has the user. */
  readonly #personIds = createBounded<string>({ max: MAX_USERS });

  constructor(stored: StoredAccounts, rows: Cached<Person>, cutoffs: Pick<RecentCutoffs, 'mayInclude'>) {
    this.#stored = stored;
    this.#rows = rows;
    this.#cutoffs = cutoffs;
  }

  findByOid(oid: string): Awaitable<Account | undefined> {
    return onceThere(this.#cached(oid), (account) => (account && isUsable(account) ? account : this.#stored.findByOid(oid)));
  }

  async named(id: string): Promise<readonly Account[]> {
    const account = await this.#cached(id);
    const children = account?.person.user.isParent ? await this.#childrenOf(account) : [];
    const accounts = [account, ...children].flatMap((each) => (each && isUsable(each) ? each : []));
    // An unusable account may have become usable.
    if (!account || accounts.length <= children.length) return this.#stored.named(id);
    const involved = new Set(accounts.flatMap(({ person: { user }, owner }) => [user.id, ...(owner ? [owner.person.user.id] : [])]));
    return (await this.#cutoffs.mayInclude([...involved])) ? this.#stored.named(id) : accounts;
  }

  /** Returns the child accounts of a parent account. The parent account lists each of them. */
  async #childrenOf({ person: { user } }: Account): Promise<readonly (Account | undefined)[]> {
    const listed = await Promise.all((user.childUserIds ?? []).map((id) => this.#cached(id)));
    return listed.filter((child) => child?.person.user.parentUserId === user.id);
  }

  #cached(oid: string): Awaitable<Account | undefined> {
    return onceThere(this.#row(oid), (person) => {
      const account = person && this.#stored.withoutOwner(person);
      const parentId = person?.user.parentUserId;
      if (parentId === undefined) return account;
      return onceThere(account, (child) =>
        onceThere(this.#row(parentId), (parent) =>
          onceThere(parent && this.#stored.withoutOwner(parent), (owner) => child && { ...child, ...present({ owner }) }),
        ),
      );
    });
  }

  /** Returns the row of a user, without a promise if the node has cached the row. */
  #row(oid: string): Awaitable<PersonWithUser | undefined> {
    const personId = this.#personIds.get(oid);
    if (personId === undefined) return this.#find(oid);
    const cached = this.#rows.peek(personId);
    return onceThere(cached ?? this.#rows.get(personId), (row) => (hasUser(row) && row.user.id === oid ? row : this.#find(oid)));
  }

  async #find(oid: string): Promise<PersonWithUser | undefined> {
    const row = isId(oid) ? await this.#stored.rowOf(oid) : undefined;
    if (row) this.#personIds.set(oid, row.id);
    else this.#personIds.delete(oid);
    return row;
  }
}

function createSubsidiaryLookup(caches: DirectoryContext['caches']): Accounts['subsidiary'] {
  const subsidiaries = caches.rows<Subsidiary>('subsidiaries');
  return ({ tid, subsidiaryId }) => {
    if (subsidiaryId === undefined) return undefined;
    const ofTenant = (row: Subsidiary | undefined) => (row?.tid === tid ? row : undefined);
    const cached = subsidiaries.peek(subsidiaryId);
    return cached ? ofTenant(cached) : subsidiaries.get(subsidiaryId).then(ofTenant);
  };
}

/** Caches the groups of users by the tenant and the ids, so that users with the same groups share one array. */
function createGroupLookups({ collections, caches }: DirectoryContext): Pick<Accounts, 'groups' | 'storedGroups'> {
  const groups = caches.rows<Group>('groups');
  const permissionIds = caches.over<ReadonlySet<string>>(['permissions'], async () => {
    const permissions = await collections.permissions.withUnreadable().find({});
    return new Set(permissions.map(({ id }) => id));
  });
  const stored = caches.over<readonly Group[]>(['groups'], async (key) => {
    const [tid, ...ids] = JSON.parse(key) as [string, ...string[]];
    const rows = await readMany(ids, { one: groups.get, all: () => collections.groups.find({ byTenant: [tid] }), keyOf: ({ id }) => id });
    return rows.flatMap((group) => (group?.tid === tid ? group : []));
  });
  const withExistingPermissions = caches.over<readonly Group[]>(['groups', 'permissions'], async (key) => {
    const [rows = [], existing] = await Promise.all([stored.get(key), permissionIds.get('all')]);
    return rows.map((group) => {
      const left = group.permissionIds.filter((id) => existing?.has(id));
      return left.length === group.permissionIds.length ? group : { ...group, permissionIds: left };
    });
  });
  const lookupIn =
    (cache: typeof stored): Accounts['groups'] =>
    ({ tid, user: { groupIds } }) => {
      const key = JSON.stringify([tid, ...groupIds]);
      return cache.peek(key) ?? cache.get(key).then((rows) => rows ?? []);
    };
  return { groups: lookupIn(withExistingPermissions), storedGroups: lookupIn(stored) };
}
