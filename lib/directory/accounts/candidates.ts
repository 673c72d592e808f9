/** Look-up of the accounts that an entered name or address can mean. */
import { present } from '../../present.js';
import type { PersonWithUser } from '../../store/records/records.js';
import { comparedAddress, comparedUserNames } from '../../text/compared.js';
import { isEmailAddress } from '../../text/email-address.js';
import { cleanText } from '../../text/kinds.js';
import { USER_NAME_LENGTH } from '../../text/schemas.js';
import type { DirectoryContext } from '../context.js';
import { NO_USER, organisationKey } from '../identifiers.js';
import { hasUser } from '../persons/user-record.js';
import {
  type Account,
  type Accounts,
  credentialOwner,
  isEmailVerified,
  isUsable,
  MAX_CREDENTIAL_OWNERS,
  type Narrowed,
} from './accounts.js';

/** Returns the first accounts of at most {@link MAX_CREDENTIAL_OWNERS} credential owners. */
function ofOwners(accounts: readonly Account[]): readonly Account[] {
  const owners = new Set(accounts.map(({ person }) => credentialOwner(person.user)));
  const first = new Set([...owners].slice(0, MAX_CREDENTIAL_OWNERS));
  return accounts.filter(({ person }) => first.has(credentialOwner(person.user)));
}

/** Returns the compared forms that the name may be stored under; none for an impossible name. */
const keysOf = (userName: string): readonly string[] =>
  userName.length > USER_NAME_LENGTH ? [] : comparedUserNames(userName).filter((key) => key !== '');

/** Returns whether nobody but the user states who owns the account. Anybody can register such an account under the name of another person. */
const isSelfMade = ({ user }: PersonWithUser): boolean => user.isSelfRegistered === true && !user.emailVerified;

/**
 * Returns how well a parent account is entitled to its user name:
 * - 2 with a verified address,
 * - 1 if others created the account,
 * - 0 if the account is self-registered and unverified.
 */
const standingOf = (parent: PersonWithUser): number => (isEmailVerified(parent) ? 2 : isSelfMade(parent) ? 0 : 1);

/** Returns the person whose user name means the linked account. */
const parentOf = ({ person, owner }: Account): PersonWithUser => owner?.person ?? person;

/**
 * Returns, for each tenant, the account that the name of a parent account means. The parent account of this account is better entitled to the name than all
 * other parent accounts. Otherwise a colleague could shut a user out by a self-registered account with the name.
 */
function bestOfTenants(linked: readonly Ranked[]): readonly Ranked[] {
  const standing = ({ account }: Ranked): number => standingOf(parentOf(account));
  return linked.filter((one) =>
    linked.every((other) => other === one || other.account.tenant.id !== one.account.tenant.id || standing(other) < standing(one)),
  );
}

/**
 * Returns the accounts that a name means, in order. An account with the name itself wins over linked accounts that share its credentials or
 * its tenant. A self-registered account does not win over a linked account of its tenant if the parent account is not self-registered. The
 * reason is that strangers can register the name of a parent account.
 * @param namesakes all persons of the linked account's tenant who have the name, usable or not
 */
function meant(
  direct: readonly Ranked[],
  linked: readonly Ranked[],
  namesakes: (tid: string) => readonly PersonWithUser[],
): readonly Ranked[] {
  const owners = new Set(direct.map(({ account }) => credentialOwner(account.person.user)));
  const winning = linked.filter(({ account, isSelfMade: isWeak }) => {
    const others = namesakes(account.tenant.id);
    const isFirst = others.length === 0 || (!isWeak && others.every(isSelfMade));
    return isFirst && !owners.has(credentialOwner(account.person.user));
  });
  const won = new Set(winning.map(({ account }) => account.tenant.id));
  const own = direct.filter(({ account }) => !won.has(account.tenant.id));
  return [...own, ...winning].sort((one, other) => one.rank - other.rank || Number(one.isSelfMade) - Number(other.isSelfMade));
}

/**
 * Rank of accounts of the tenant with the given name. Accounts found by a number or a subsidiary come later, because other tenants can
 * write numbers and subsidiaries.
 */
const TENANT_NAME = 0;
const OTHER_NAME = 1;
type Rank = typeof TENANT_NAME | typeof OTHER_NAME;

interface Ranked {
  readonly account: Account;
  readonly rank: Rank;
  /**
   * Whether the person with the name is self-registered. If the account was found by the name of its parent account, this person is the person
   * of the parent account.
   */
  readonly isSelfMade: boolean;
}

const allows = ({ tenant: { signIn } }: Account, method: string | undefined): boolean =>
  method === undefined || (signIn?.methods?.includes(method) ?? true);

/** Number of tenants above which one look-up of the name in all tenants costs less than one look-up in each. */
const MANY_TENANTS = 16;

const PAGE = 100;

/** Maximum number of parent accounts with one name whose linked accounts are looked up. */
const MOST_PARENTS = 20;

interface Parts extends Pick<Accounts, 'findByOid' | 'subsidiary'> {
  readonly persons: DirectoryContext['collections']['persons'];
  /** Returns the accounts of these documents. */
  readonly accounts: (rows: readonly (PersonWithUser | undefined)[]) => Promise<readonly Account[]>;
}

type Candidates = Pick<Accounts, 'candidates' | 'candidatesAmong' | 'withEmail'>;

export const createCandidates = (parts: Parts): Candidates => {
  const candidates = new NamedAccounts(parts);
  return {
    candidates: (userName, narrowed) => candidates.candidates(userName, narrowed),
    candidatesAmong: (oids, userName, narrowed) => candidates.candidatesAmong(oids, userName, narrowed),
    withEmail: (email, tids) => candidates.withEmail(email, tids),
  };
};

class NamedAccounts {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Yields all accounts with the name in these tenants, usable or not. */
  async *#accountsByName(keys: readonly string[], tids: readonly string[] | undefined): AsyncGenerator<Account> {
    for (const key of keys) yield* this.#accountsByKey(key, tids);
  }

  async *#accountsByKey(key: string, tids: readonly string[] | undefined): AsyncGenerator<Account> {
    if (tids && tids.length <= MANY_TENANTS) {
      const rows = await Promise.all(tids.map((tid) => this.#parts.persons.find({ byUserName: [tid, key] })));
      yield* await this.#parts.accounts(rows.flat().filter(hasUser));
      return;
    }
    const wanted = tids && new Set(tids);
    for (let after: string | undefined; ; ) {
      const rows = await this.#parts.persons.find({ byUserNameAnywhere: [key] }, { limit: PAGE, ...(after && { after }) });
      yield* await this.#parts.accounts(rows.filter(hasUser).filter(({ tid }) => wanted?.has(tid) ?? true));
      after = rows.at(-1)?.id;
      if (rows.length < PAGE) return;
    }
  }

  /**
   * Returns usable accounts in these tenants whose parent account, in another tenant, has the name. The look-ups are the same for a name that
   * no parent account has, so that their time does not show which names parent accounts have.
   */
  async #childrenByParentName(keys: readonly string[], tids: readonly string[]): Promise<readonly Account[]> {
    const named = await Promise.all(keys.map((key) => this.#parts.persons.find({ byParentName: [key] }, { limit: MOST_PARENTS })));
    const parents = named
      .flat()
      .filter(hasUser)
      .filter(({ tid }) => !tids.includes(tid));
    const ids = parents.length === 0 ? [NO_USER] : parents.map(({ user }) => user.id);
    const linked = (await Promise.all(ids.map((id) => this.#parts.persons.find({ byParent: [id] })))).flat();
    const children = linked.filter(hasUser).filter(({ tid }) => tids.includes(tid));
    return (await this.#parts.accounts([...parents, ...children])).filter(
      (account) => tids.includes(account.tenant.id) && isUsable(account),
    );
  }

  /** Returns the rank of an account in a look-up with an organisation; undefined for an account of another organisation. */
  async #rankOf({ person, tenant }: Account, organisation: string): Promise<Rank | undefined> {
    const said = organisationKey(organisation);
    if (said === '' || organisationKey(tenant.name) === said) return TENANT_NAME;
    const part = await this.#parts.subsidiary(person);
    const others = [tenant.organisationNumber, part?.name, part?.organisationNumber];
    return others.some((name) => name !== undefined && organisationKey(name) === said) ? OTHER_NAME : undefined;
  }

  async #ranked(account: Account, organisation: string, named = account.person): Promise<readonly Ranked[]> {
    const rank = await this.#rankOf(account, organisation);
    return rank === undefined ? [] : [{ account, rank, isSelfMade: isSelfMade(named) }];
  }

  /** Returns usable accounts with the name, and all persons with the name by their tenants. */
  async #byOwnName(keys: readonly string[], { tids, organisation = '', method }: Narrowed) {
    const named = new Map<string, readonly PersonWithUser[]>();
    const accounts: Ranked[] = [];
    const first: Account[] = [];
    for await (const account of this.#accountsByName(keys, tids)) {
      const { person, tenant } = account;
      named.set(tenant.id, [...(named.get(tenant.id) ?? []), person]);
      if (!isUsable(account) || !allows(account, method)) continue;
      const usable = await this.#ranked(account, organisation);
      accounts.push(...usable);
      first.push(...usable.filter(({ rank, isSelfMade }) => rank === TENANT_NAME && !isSelfMade).map((one) => one.account));
      if (ofOwners(first).length < first.length) break;
    }
    return { named, found: accounts };
  }

  /** Returns accounts that the name means as the name of their parent account, at most one in each tenant. */
  async #byParentName(
    keys: readonly string[],
    { tids, organisation = '', method, isParentNameAllowed = false }: Narrowed,
  ): Promise<readonly Ranked[]> {
    if (tids === undefined || !isParentNameAllowed) return [];
    const allowed = (await this.#childrenByParentName(keys, tids)).filter((account) => allows(account, method));
    return bestOfTenants((await Promise.all(allowed.map((account) => this.#ranked(account, organisation, parentOf(account))))).flat());
  }

  async #namesakesIn(tid: string, keys: readonly string[]): Promise<readonly PersonWithUser[]> {
    return (await Promise.all(keys.map((key) => this.#parts.persons.find({ byUserName: [tid, key] })))).flat().filter(hasUser);
  }

  async candidates(userName: string, narrowed: Narrowed = {}): Promise<readonly Account[]> {
    const keys = keysOf(userName);
    const [direct, linked] = await Promise.all([this.#byOwnName(keys, narrowed), this.#byParentName(keys, narrowed)]);
    return ofOwners(meant(direct.found, linked, (tid) => direct.named.get(tid) ?? []).map(({ account }) => account));
  }

  async withEmail(email: string, tids?: readonly string[]): Promise<readonly Account[]> {
    const address = cleanText('address', email);
    if (!isEmailAddress(address)) return [];
    const key = comparedAddress(address);
    const isFew = tids !== undefined && tids.length <= MANY_TENANTS;
    const usable = async (rows: Awaited<ReturnType<Parts['persons']['find']>>): Promise<readonly Account[]> =>
      (await this.#parts.accounts(rows.filter(hasUser).filter(({ tid }) => tids?.includes(tid) ?? true))).filter((account) =>
        isUsable(account),
      );
    if (isFew) return usable((await Promise.all(tids.map((tid) => this.#parts.persons.find({ byEmail: [tid, key] })))).flat());
    const accounts: Account[] = [];
    // Two accounts are enough to know that the address is not unique.
    for (let after: string | undefined; accounts.length < 2; ) {
      const rows = await this.#parts.persons.find({ byEmailAnywhere: [key] }, { limit: PAGE, ...present({ after }) });
      accounts.push(...(await usable(rows)));
      after = rows.at(-1)?.id;
      if (rows.length < PAGE) break;
    }
    return accounts;
  }

  async candidatesAmong(oids: readonly string[], userName: string, narrowed: Narrowed = {}): Promise<readonly Account[]> {
    const { tids, organisation = '', method } = narrowed;
    const keys = keysOf(userName);
    const [found, linked] = await Promise.all([Promise.all(oids.map(this.#parts.findByOid)), this.#byParentName(keys, narrowed)]);
    const named = found.flatMap((account) =>
      account &&
      keys.includes(account.person.user.userNameKey) &&
      isUsable(account) &&
      allows(account, method) &&
      (tids?.includes(account.tenant.id) ?? true)
        ? account
        : [],
    );
    const direct = (await Promise.all(named.map((account) => this.#ranked(account, organisation)))).flat();
    // A browser that signed in to the parent account has used the password that signs the linked account in.
    const signedInHere = linked.filter(({ account: { person } }) =>
      [person.user.id, credentialOwner(person.user)].some((id) => oids.includes(id)),
    );
    const namesakes = new Map(
      await Promise.all(
        signedInHere.map(async ({ account: { tenant } }) => [tenant.id, await this.#namesakesIn(tenant.id, keys)] as const),
      ),
    );
    return ofOwners(meant(direct, signedInHere, (tid) => namesakes.get(tid) ?? []).map(({ account }) => account));
  }
}
