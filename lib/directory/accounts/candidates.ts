/** Whom a name or an address that somebody typed can mean. */
import type { PersonWithUser } from '../../store/records/records.js';
import { comparedAddress, comparedUserNames } from '../../text/compared.js';
import { isEmailAddress } from '../../text/email-address.js';
import { cleanText } from '../../text/kinds.js';
import type { DirectoryContext } from '../context.js';
import { NO_USER, organisationKey, USER_NAME_LENGTH } from '../identifiers.js';
import { hasUser } from '../persons/user-record.js';
import { type Account, type Accounts, credentialOwner, isUsable, MAX_CREDENTIAL_OWNERS, type Narrowed } from './accounts.js';

/** The first accounts, of at most so many owners of credentials. */
function ofOwners(accounts: readonly Account[]): readonly Account[] {
  const owners = new Set(accounts.map(({ person }) => credentialOwner(person.user)));
  const first = new Set([...owners].slice(0, MAX_CREDENTIAL_OWNERS));
  return accounts.filter(({ person }) => first.has(credentialOwner(person.user)));
}

/** The linked accounts without those whose owner has an account with the name itself, which then decides what account becomes active. */
const withoutOwnersOf = (direct: readonly Account[], linked: readonly Account[]): readonly Account[] => {
  const owners = new Set(direct.map(({ person }) => credentialOwner(person.user)));
  return linked.filter(({ person }) => !owners.has(credentialOwner(person.user)));
};

/** The keys that the name may be stored under; none for what no name can be. */
const keysOf = (userName: string): readonly string[] =>
  userName.length > USER_NAME_LENGTH ? [] : comparedUserNames(userName).filter((key) => key !== '');

/** Whether nobody but who uses it says whose it is: anybody can make one under another's name. */
const isSelfMade = ({ person: { user } }: Account): boolean => user.isSelfRegistered === true && !user.emailVerified;

/** Accounts of the tenant with the given name come before accounts of a number or a subsidiary, because other tenants can write numbers and subsidiaries. */
const TENANT_NAME = 0;
const OTHER_NAME = 1;
type Rank = typeof TENANT_NAME | typeof OTHER_NAME;

const allows = ({ tenant: { signIn } }: Account, method: string | undefined): boolean =>
  method === undefined || (signIn?.methods?.includes(method) ?? true);

/** Tenants from which on one look-up of the name in all tenants costs less than one look-up in each. */
const MANY_TENANTS = 16;

const PAGE = 100;

/** Maximum parents with one name whose linked accounts are looked up. */
const MOST_PARENTS = 20;

interface Parts extends Pick<Accounts, 'findByOid' | 'subsidiary'> {
  readonly persons: DirectoryContext['collections']['persons'];
  /** The accounts of these documents. */
  readonly accounts: (rows: readonly (PersonWithUser | undefined)[]) => Promise<readonly Account[]>;
}

type Candidates = Pick<Accounts, 'candidates' | 'candidatesAmong' | 'withEmail'>;

export function createCandidates({ persons, accounts, findByOid, subsidiary }: Parts): Candidates {
  /** All accounts with the name in these tenants, usable or not. */
  async function* accountsByName(keys: readonly string[], tids: readonly string[] | undefined): AsyncGenerator<Account> {
    for (const key of keys) yield* accountsByKey(key, tids);
  }

  async function* accountsByKey(key: string, tids: readonly string[] | undefined): AsyncGenerator<Account> {
    if (tids && tids.length <= MANY_TENANTS) {
      const rows = await Promise.all(tids.map((tid) => persons.find({ byUserName: [tid, key] })));
      yield* await accounts(rows.flat().filter(hasUser));
      return;
    }
    const wanted = tids && new Set(tids);
    for (let after: string | undefined; ; ) {
      const rows = await persons.find({ byUserNameAnywhere: [key] }, { limit: PAGE, ...(after && { after }) });
      yield* await accounts(rows.filter(hasUser).filter(({ tid }) => wanted?.has(tid) ?? true));
      after = rows.at(-1)?.id;
      if (rows.length < PAGE) return;
    }
  }

  /**
   * Usable accounts in these tenants whose parent, in another tenant, has the name. The look-ups are the same for a name that no parent has, so that their
   * time does not show which names parents have.
   */
  async function childrenByParentName(keys: readonly string[], tids: readonly string[]): Promise<readonly Account[]> {
    const named = await Promise.all(keys.map((key) => persons.find({ byParentName: [key] }, { limit: MOST_PARENTS })));
    const parents = named
      .flat()
      .filter(hasUser)
      .filter(({ tid }) => !tids.includes(tid));
    const ids = parents.length === 0 ? [NO_USER] : parents.map(({ user }) => user.id);
    const linked = (await Promise.all(ids.map((id) => persons.find({ byParent: [id] })))).flat();
    const children = linked.filter(hasUser).filter(({ tid }) => tids.includes(tid));
    return (await accounts([...parents, ...children])).filter((account) => tids.includes(account.tenant.id) && isUsable(account));
  }

  /** @returns undefined for an account of another organisation */
  const rankOf = async ({ person, tenant }: Account, organisation: string): Promise<Rank | undefined> => {
    const said = organisationKey(organisation);
    if (said === '' || organisationKey(tenant.name) === said) return TENANT_NAME;
    const part = await subsidiary(person);
    const others = [tenant.organisationNumber, part?.name, part?.organisationNumber];
    return others.some((name) => name !== undefined && organisationKey(name) === said) ? OTHER_NAME : undefined;
  };

  /** Usable accounts with the name, in order, and all tenants that have an account with the name. */
  async function byOwnName(keys: readonly string[], { tids, organisation = '', method }: Narrowed) {
    const found = new Set<string>();
    const ranked = [
      { known: [] as Account[], selfMade: [] as Account[] },
      { known: [] as Account[], selfMade: [] as Account[] },
    ] as const;
    for await (const account of accountsByName(keys, tids)) {
      found.add(account.tenant.id);
      const rank = isUsable(account) && allows(account, method) ? await rankOf(account, organisation) : undefined;
      if (rank === undefined) continue;
      ranked[rank][isSelfMade(account) ? 'selfMade' : 'known'].push(account);
      const { known } = ranked[TENANT_NAME];
      if (ofOwners(known).length < known.length) break;
    }
    return { tids: found, accounts: ranked.flatMap(({ known, selfMade }) => [...known, ...selfMade]) };
  }

  /** Accounts that the name means as the name of their parent, at most one in each tenant. They come after all accounts with the name. */
  async function byParentName(
    keys: readonly string[],
    { tids, organisation = '', method, isParentNameAllowed = false }: Narrowed,
  ): Promise<readonly Account[]> {
    if (tids === undefined || !isParentNameAllowed) return [];
    const allowed = (await childrenByParentName(keys, tids)).filter((account) => allows(account, method));
    const ranks = await Promise.all(allowed.map((account) => rankOf(account, organisation)));
    const named = allowed.filter((_, index) => ranks[index] !== undefined);
    return named.filter(({ tenant }, _, all) => all.filter((other) => other.tenant.id === tenant.id).length === 1);
  }

  const hasName = async (tid: string, keys: readonly string[]): Promise<boolean> =>
    (await Promise.all(keys.map((key) => persons.find({ byUserName: [tid, key] })))).flat().length > 0;

  return {
    async candidates(userName, narrowed = {}) {
      const keys = keysOf(userName);
      const [direct, linked] = await Promise.all([byOwnName(keys, narrowed), byParentName(keys, narrowed)]);
      const others = withoutOwnersOf(direct.accounts, linked);
      return ofOwners([...direct.accounts, ...others.filter(({ tenant }) => !direct.tids.has(tenant.id))]);
    },

    async withEmail(email, tids) {
      const address = cleanText('address', email);
      if (!isEmailAddress(address)) return [];
      const key = comparedAddress(address);
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

    async candidatesAmong(oids, userName, narrowed = {}) {
      const { tids, organisation = '', method } = narrowed;
      const keys = keysOf(userName);
      const [found, linked] = await Promise.all([Promise.all(oids.map(findByOid)), byParentName(keys, narrowed)]);
      const named = found.flatMap((account) =>
        account &&
        keys.includes(account.person.user.userNameKey) &&
        isUsable(account) &&
        allows(account, method) &&
        (tids?.includes(account.tenant.id) ?? true)
          ? account
          : [],
      );
      const ranks = await Promise.all(named.map((account) => rankOf(account, organisation)));
      const direct = [TENANT_NAME, OTHER_NAME].flatMap((rank) => named.filter((_, index) => ranks[index] === rank));
      const known = withoutOwnersOf(direct, linked).filter(({ person }) => oids.includes(person.user.id));
      const isTaken = await Promise.all(known.map(({ tenant }) => hasName(tenant.id, keys)));
      return ofOwners([...direct, ...known.filter((_, index) => !isTaken[index])]);
    },
  };
}
