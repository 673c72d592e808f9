/** Whom a name or an address that somebody typed can mean. */
import type { PersonWithUser } from '../../store/records/records.js';
import { comparedAddress, comparedUserNames } from '../../text/compared.js';
import { isEmailAddress } from '../../text/email-address.js';
import { cleanText } from '../../text/kinds.js';
import type { DirectoryContext } from '../context.js';
import { organisationKey, USER_NAME_LENGTH } from '../identifiers.js';
import { hasUser } from '../persons/user-record.js';
import { type Account, type Accounts, credentialOwner, isUsable, MAX_CREDENTIAL_OWNERS } from './accounts.js';

/** The first accounts, of at most so many owners of credentials. */
function ofOwners(accounts: readonly Account[]): readonly Account[] {
  const owners = new Set(accounts.map(({ person }) => credentialOwner(person.user)));
  const first = new Set([...owners].slice(0, MAX_CREDENTIAL_OWNERS));
  return accounts.filter(({ person }) => first.has(credentialOwner(person.user)));
}

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

interface Parts extends Pick<Accounts, 'findByOid' | 'subsidiary'> {
  readonly persons: DirectoryContext['collections']['persons'];
  /** The accounts of these documents. */
  readonly accounts: (rows: readonly (PersonWithUser | undefined)[]) => Promise<readonly Account[]>;
}

type Candidates = Pick<Accounts, 'candidates' | 'candidatesAmong' | 'withEmail'>;

export function createCandidates({ persons, accounts, findByOid, subsidiary }: Parts): Candidates {
  async function* usableByName(keys: readonly string[], tids: readonly string[] | undefined): AsyncGenerator<Account> {
    for (const key of keys) yield* usableByKey(key, tids);
  }

  async function* usableByKey(key: string, tids: readonly string[] | undefined): AsyncGenerator<Account> {
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

  /** @returns undefined for an account of another organisation */
  const rankOf = async ({ person, tenant }: Account, organisation: string): Promise<Rank | undefined> => {
    const said = organisationKey(organisation);
    if (said === '' || organisationKey(tenant.name) === said) return TENANT_NAME;
    const part = await subsidiary(person);
    const others = [tenant.organisationNumber, part?.name, part?.organisationNumber];
    return others.some((name) => name !== undefined && organisationKey(name) === said) ? OTHER_NAME : undefined;
  };

  return {
    async candidates(userName, { tids, organisation = '', method } = {}) {
      const keys = userName.length > USER_NAME_LENGTH ? [] : comparedUserNames(userName).filter((key) => key !== '');
      const ranked = [
        { known: [] as Account[], selfMade: [] as Account[] },
        { known: [] as Account[], selfMade: [] as Account[] },
      ] as const;
      for await (const account of usableByName(keys, tids)) {
        const rank = allows(account, method) ? await rankOf(account, organisation) : undefined;
        if (rank === undefined) continue;
        ranked[rank][isSelfMade(account) ? 'selfMade' : 'known'].push(account);
        const { known } = ranked[TENANT_NAME];
        if (ofOwners(known).length < known.length) break;
      }
      return ofOwners(ranked.flatMap(({ known, selfMade }) => [...known, ...selfMade]));
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

    async candidatesAmong(oids, userName, { tids, organisation = '', method } = {}) {
      const keys = comparedUserNames(userName);
      const found = await Promise.all(oids.map(findByOid));
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
      return ofOwners([TENANT_NAME, OTHER_NAME].flatMap((rank) => named.filter((_, index) => ranks[index] === rank)));
    },
  };
}
