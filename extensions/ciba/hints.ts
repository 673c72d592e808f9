/** Whom a client means: one account that may sign in to it, or nobody. Why nobody, the client does not learn. @see CIBA Core §7.1 */
import {
  type Account,
  type Client,
  type ClientRequest,
  type ExtensionContext,
  isUsable,
  parseAcrValues,
} from '../../lib/extension-door.js';

/** Tenants whose people may be meant; absent: all. */
export function tenantsOf({ allowedTenants }: Client, acrValues: string | undefined): readonly string[] | undefined {
  const { tenant } = parseAcrValues(acrValues);
  if (tenant === undefined) return allowedTenants;
  return allowedTenants?.includes(tenant) === false ? [] : [tenant];
}

export function createHints({ directory }: Pick<ExtensionContext, 'directory'>) {
  const { accounts } = directory;

  /** The only one of these; undefined where there are several. */
  function onlyOne(candidates: readonly Account[]): Account | undefined {
    const byOid = new Map(candidates.map((account) => [account.person.user.id, account]));
    return byOid.size === 1 ? [...byOid.values()][0] : undefined;
  }

  /** Of the accounts that share a `sub` the one that may be meant. */
  async function ofFamily(account: Account, tids: readonly string[] | undefined): Promise<Account | undefined> {
    const family = await accounts.family(account.person);
    return onlyOne(family.filter((one) => isUsable(one) && (tids?.includes(one.tenant.id) ?? true)));
  }

  /** A user id means its account; a `sub` that linked accounts share, or one of them where another tenant is named, the account of that tenant. */
  async function byId(id: string | undefined, tids: readonly string[] | undefined): Promise<Account | undefined> {
    const account = id === undefined ? undefined : await accounts.findByOid(id);
    if (!account) return undefined;
    const isMeant = tids?.includes(account.tenant.id) ?? true;
    if (account.person.user.isParent || !isMeant) return ofFamily(account, tids);
    return isUsable(account) ? account : undefined;
  }

  async function byNationalId(hint: string, tids: readonly string[] | undefined): Promise<readonly Account[]> {
    const [tid, ...others] = tids ?? [];
    // Its hash is keyed by the tenant's id.
    if (tid === undefined || others.length > 0) return [];
    const person = await directory.forTenant(tid).persons.findByNationalId(hint);
    const account = person?.user && (await accounts.findByOid(person.user.id));
    return account && isUsable(account) ? [account] : [];
  }

  return {
    /** The account that a `login_hint` means. The same look-ups are made whatever it is. */
    async ofText({ userIdOf }: ClientRequest, hint: string, tids: readonly string[] | undefined): Promise<Account | undefined> {
      const [id, byName, byEmail, byNumber] = await Promise.all([
        byId(userIdOf(hint), tids),
        accounts.candidates(hint, { tids, isParentNameAllowed: true }),
        accounts.withEmail(hint, tids),
        byNationalId(hint, tids),
      ]);
      if (id) return id;
      // A name can be made of the address of somebody else, also the name of a parent: what two accounts have means nobody.
      return onlyOne([...byName, ...byEmail, ...byNumber]);
    },

    /** The account that a token means, if it may be meant here. */
    async ofToken(account: Account | undefined, tids: readonly string[] | undefined): Promise<Account | undefined> {
      if (!account) return undefined;
      const isMeant = tids?.includes(account.tenant.id) ?? true;
      return isMeant ? (isUsable(account) ? account : undefined) : ofFamily(account, tids);
    },
  };
}
