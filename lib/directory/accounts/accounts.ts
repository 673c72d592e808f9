/**
 * Accounts: a user together with the person and the tenant, as sign-in and the protocol see them.
 *
 * Here are how accounts are found, linked accounts, their credentials and self-registration, and the cut-off that invalidates sign-ins.
 * `linking` proves at its top that no order of steps breaks a family.
 */

import { comparedText } from '../../store/records/derived-keys.js';
import type { ExternalIdentity, Group, PersonWithUser, Subsidiary, Tenant } from '../../store/records/records.js';
import type { DirectoryContext } from '../context.js';
import { isId, USER_NAME_LENGTH, userNameKey } from '../identifiers.js';
import { accountEmailOf } from '../persons/email-addresses.js';
import { externalIdentityKey, hasUser } from '../persons/user-record.js';
import { type PolicyWatch, unmetPolicy } from '../tenants/sign-in-policy.js';
import type { Tenants } from '../tenants/tenants.js';

/** Someone who can sign in: a user, in a tenant. */
export interface Account {
  readonly person: PersonWithUser;
  readonly tenant: Tenant;
  /** The part of the tenant's policy that nothing here can meet, for the log. While it is set, nobody can sign in to the tenant. */
  readonly unmetPolicy?: string;
}

export interface Narrowed {
  /** @default all tenants */
  readonly tids?: readonly string[] | undefined;
  /** What the person calls their organisation: the name or number of a tenant or a subsidiary. @default whichever */
  readonly organisation?: string | undefined;
  /** Those whose tenants allow this sign-in method. @default whichever */
  readonly method?: string | undefined;
}

/** Accounts of all tenants, for sign-in and protocol code, which learn the tenant from the account. All other code goes through a tenant. */
export interface Accounts {
  /** The account of an `oid`, usable or not. */
  findByOid(oid: string): Promise<Account | undefined>;
  /** The usable accounts that a user id means: for a parent's, which its children share as `sub`, the whole family. */
  named(id: string): Promise<readonly Account[]>;
  /** All accounts that share the person's `sub`, itself included, usable or not. */
  family(person: PersonWithUser): Promise<readonly Account[]>;
  /** All accounts that an external identity was recorded for, in whatever tenants, usable or not. */
  ofIdentity(identity: ExternalIdentity): Promise<readonly Account[]>;
  /** A user name as names are compared. */
  nameKey(userName: string): string;
  /** Usable accounts with this user name, of at most three credential owners: first those that are verified, or that others made for them. */
  candidates(userName: string, narrowed?: Narrowed): Promise<readonly Account[]>;
  /** Usable accounts of persons with this e-mail address, whoever else has it. Of more than one, at least two. */
  withEmail(email: string, tids: readonly string[] | undefined): Promise<readonly Account[]>;
  /** Those of these `oid`s alone. */
  candidatesAmong(oids: readonly string[], userName: string, narrowed?: Narrowed): Promise<readonly Account[]>;
  /** A promise only if it is not at hand. */
  subsidiary(person: PersonWithUser): Subsidiary | undefined | Promise<Subsidiary | undefined>;
  /** The groups of the user that still exist; a promise only if they are not at hand. The same array, until one changes, for all who have the same. */
  groups(person: PersonWithUser): readonly Group[] | Promise<readonly Group[]>;
  /** Where mail about the account goes: an address that nobody proved does not take the place of one that was proven. */
  emailOf(person: PersonWithUser): string | undefined;
  /** What is privileged of what the user may do, and of what those may that are linked to it: who signs in as a parent signs in as its children. */
  privileges(person: PersonWithUser): Promise<readonly string[]>;
}

/** The subject identifier of a sign-in now. A grant keeps the one it was made with. */
export const subOf = (user: PersonWithUser['user']): string => user.parentUserId ?? user.id;

/** Whose credentials sign the user in: while linked, the parent's. */
export const credentialOwner = ({ id, parentUserId }: PersonWithUser['user']): string => parentUserId ?? id;

/**
 * Whether the account may sign in, or go on with what began at `loginAt`.
 * @example
 * ```ts
 * import { type ExtensionContext, isUsable } from 'tenant-idp/extension';
 *
 * export async function mayGoOn({ directory }: ExtensionContext, oid: string, since: Date): Promise<boolean> {
 *   const account = await directory.accounts.findByOid(oid);
 *   return account !== undefined && isUsable(account, since);
 * }
 * ```
 */
export const isUsable = (account: Account, loginAt?: Date): boolean => !isVoid(account, loginAt) && account.unmetPolicy === undefined;

/** Whether a sign-in of `loginAt` is over for good. A policy that nothing meets ends no sign-in, because it may be changed back. */
export const isVoid = (account: Account, loginAt?: Date): boolean =>
  account.person.user.status !== 'active' ||
  account.tenant.status !== 'active' ||
  (loginAt !== undefined && notBeforeOf(account) > loginAt.getTime());

/** The time of the first sign-in that counts, in milliseconds since the epoch. */
export const notBeforeOf = ({ person: { user }, tenant }: Account): number =>
  Math.max(user.notBefore?.getTime() ?? 0, tenant.notBefore?.getTime() ?? 0);

/** Distinct credentials that a password is tried against. */
export const MAX_CREDENTIAL_OWNERS = 3;

/** The first accounts, of at most so many owners of credentials. */
function ofOwners(accounts: readonly Account[]): readonly Account[] {
  const owners = new Set(accounts.map(({ person }) => credentialOwner(person.user)));
  const first = new Set([...owners].slice(0, MAX_CREDENTIAL_OWNERS));
  return accounts.filter(({ person }) => first.has(credentialOwner(person.user)));
}

/** Whether nobody but who uses it says whose it is: anybody can make one under another's name. */
const isSelfMade = ({ person: { user } }: Account): boolean => user.isSelfRegistered === true && !user.emailVerified;

/** Names as people write them; a number without its spaces. */
const folded = (name: string): string =>
  name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\s.]+/g, '');

const allows = ({ tenant: { signIn } }: Account, method: string | undefined): boolean =>
  method === undefined || (signIn?.methods?.includes(method) ?? true);

/** Tenants from which on one look-up of the name in all tenants costs less than one look-up in each. */
const MANY_TENANTS = 16;

const PAGE = 100;

export function createAccounts(
  { collections, caches, means, privileges }: DirectoryContext,
  tenants: Tenants,
  policies: PolicyWatch,
): Accounts {
  const { persons } = collections;
  const groups = caches.rows<Group>('groups');
  const memberships = caches.over<readonly Group[]>(['groups'], async (key) => {
    const [tid, ...ids] = JSON.parse(key) as [string, ...string[]];
    const found = await Promise.all(ids.map(groups.get));
    return found.flatMap((group) => (group?.tid === tid ? group : []));
  });
  const subsidiaries = caches.rows<Subsidiary>('subsidiaries');

  const accountOf = (person: PersonWithUser, tenant: Tenant): Account | Promise<Account> => {
    if (tenant.signIn === undefined) return { person, tenant };
    const judged = (reason: string | undefined): Account => {
      policies.wanted(tenant, reason);
      return { person, tenant, ...(reason === undefined ? {} : { unmetPolicy: reason }) };
    };
    const reason = unmetPolicy(tenant, means);
    return reason instanceof Promise ? reason.then(judged) : judged(reason);
  };
  const accounts = async (rows: readonly (PersonWithUser | undefined)[]): Promise<readonly Account[]> => {
    const found = await Promise.all(
      rows.map(async (person) => {
        const tenant = person && (await tenants.get(person.tid));
        return tenant ? [await accountOf(person, tenant)] : [];
      }),
    );
    return found.flat();
  };
  const byOid = (oid: string) => persons.find({ byUser: [oid] }).then((found) => found.filter(hasUser));

  async function* usableByName(key: string, tids: readonly string[] | undefined): AsyncGenerator<Account> {
    if (tids && tids.length <= MANY_TENANTS) {
      const rows = await Promise.all(tids.map((tid) => persons.find({ byUserName: [tid, key] })));
      for (const account of await accounts(rows.flat().filter(hasUser))) if (isUsable(account)) yield account;
      return;
    }
    const wanted = tids && new Set(tids);
    for (let after: string | undefined; ; ) {
      const rows = await persons.find({ byUserNameAnywhere: [key] }, { limit: PAGE, ...(after && { after }) });
      const narrowed = rows.filter(hasUser).filter(({ tid }) => wanted?.has(tid) ?? true);
      for (const account of await accounts(narrowed)) if (isUsable(account)) yield account;
      after = rows.at(-1)?.id;
      if (rows.length < PAGE) return;
    }
  }

  const findByOid: Accounts['findByOid'] = async (oid) => {
    const person = isId(oid) ? (await persons.find({ byUser: [oid] })).find(hasUser) : undefined;
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
    return accounts([person, ...others]);
  };

  const subsidiary: Accounts['subsidiary'] = ({ tid, subsidiaryId }) => {
    if (subsidiaryId === undefined) return undefined;
    const own = (found: Subsidiary | undefined) => (found?.tid === tid ? found : undefined);
    const kept = subsidiaries.peek(subsidiaryId);
    return kept ? own(kept) : subsidiaries.get(subsidiaryId).then(own);
  };

  const isOf = async ({ person, tenant }: Account, organisation: string): Promise<boolean> => {
    const said = folded(organisation);
    if (said === '') return true;
    const names = [tenant, await subsidiary(person)].flatMap((each) => (each ? [each.name, each.organisationNumber ?? ''] : []));
    return names.some((name) => name !== '' && folded(name) === said);
  };

  const groupsOf: Accounts['groups'] = ({ tid, user: { groupIds } }) => {
    const key = JSON.stringify([tid, ...groupIds]);
    return memberships.peek(key) ?? memberships.get(key).then((found) => found ?? []);
  };

  return {
    findByOid,
    family,

    async ofIdentity(identity) {
      return accounts((await persons.find({ byExternalIdentity: [externalIdentityKey(identity)] })).filter(hasUser));
    },

    async named(id) {
      const account = await findByOid(id);
      if (!account) return [];
      const all = account.person.user.isParent ? await family(account.person) : [account];
      return all.filter((one) => isUsable(one));
    },

    async privileges(person) {
      const all = person.user.isParent ? (await family(person)).map((account) => account.person) : [person];
      return privileges.in((await Promise.all(all.map(groupsOf))).flat());
    },

    nameKey: userNameKey,

    async candidates(userName, { tids, organisation = '', method } = {}) {
      const key = userName.length > USER_NAME_LENGTH ? '' : userNameKey(userName);
      if (key === '') return [];
      const known: Account[] = [];
      const selfMade: Account[] = [];
      for await (const account of usableByName(key, tids)) {
        if (!allows(account, method) || !(await isOf(account, organisation))) continue;
        (isSelfMade(account) ? selfMade : known).push(account);
        if (ofOwners(known).length < known.length) break;
      }
      return ofOwners([...known, ...selfMade]);
    },

    async withEmail(email, tids) {
      const key = comparedText(email);
      if (key === '') return [];
      const isFew = tids !== undefined && tids.length <= MANY_TENANTS;
      const usable = async (rows: Awaited<ReturnType<typeof persons.find>>): Promise<readonly Account[]> =>
        (await accounts(rows.filter(hasUser).filter(({ tid }) => tids?.includes(tid) ?? true))).filter((account) => isUsable(account));
      if (isFew) return usable((await Promise.all(tids.map((tid) => persons.find({ byEmail: [tid, key] })))).flat());
      const found: Account[] = [];
      // Two are enough to know that it is not one's alone.
      for (let after: string | undefined; found.length < 2; ) {
        const rows = await persons.find({ byEmailAnywhere: [key] }, { limit: PAGE, ...(after === undefined ? {} : { after }) });
        found.push(...(await usable(rows)));
        after = rows.at(-1)?.id;
        if (rows.length < PAGE) break;
      }
      return found;
    },

    async candidatesAmong(oids, userName, { tids, organisation = '', method } = {}) {
      const key = userNameKey(userName);
      const found = await Promise.all(oids.map(findByOid));
      const named = found.flatMap((account) =>
        account &&
        account.person.user.userNameKey === key &&
        isUsable(account) &&
        allows(account, method) &&
        (tids?.includes(account.tenant.id) ?? true)
          ? account
          : [],
      );
      const fitting = await Promise.all(named.map((account) => isOf(account, organisation)));
      return ofOwners(named.filter((_, index) => fitting[index]));
    },

    subsidiary,

    groups: groupsOf,
    emailOf: accountEmailOf,
  };
}
