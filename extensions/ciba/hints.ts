/** The account that a hint means: one account that may sign in to the client, or none. The client does not learn why there is none. @see CIBA Core §7.1 */
import {
  type Account,
  type Client,
  type ClientRequest,
  type ExtensionContext,
  isUsable,
  parseAcrValues,
} from '../../lib/extension-door.js';

/** Returns the tenants whose users a hint may mean; undefined for all. */
export function tenantsOf({ allowedTenants }: Client, acrValues: string | undefined): readonly string[] | undefined {
  const { tenant } = parseAcrValues(acrValues);
  if (tenant === undefined) return allowedTenants;
  return allowedTenants?.includes(tenant) === false ? [] : [tenant];
}

export function createHints({ directory }: Pick<ExtensionContext, 'directory'>) {
  const { accounts } = directory;

  /** Returns the account if there is exactly one; undefined for no account and for several accounts. */
  function onlyOne(candidates: readonly Account[]): Account | undefined {
    const byOid = new Map(candidates.map((account) => [account.person.user.id, account]));
    return byOid.size === 1 ? [...byOid.values()][0] : undefined;
  }

  /** Returns the only account that a hint may mean, of the linked accounts that share a `sub`. */
  async function ofFamily(account: Account, tids: readonly string[] | undefined): Promise<Account | undefined> {
    const family = await accounts.family(account.person);
    return onlyOne(family.filter((one) => isUsable(one) && (tids?.includes(one.tenant.id) ?? true)));
  }

  /**
   * Returns the account of a user id. A `sub` that linked accounts share means the account of the requested tenant. If another tenant is requested, the id
   * of a linked account also means the account of that tenant.
   */
  async function byId(id: string | undefined, tids: readonly string[] | undefined): Promise<Account | undefined> {
    const account = id === undefined ? undefined : await accounts.findByOid(id);
    if (!account) return undefined;
    const isMeant = tids?.includes(account.tenant.id) ?? true;
    if (account.person.user.isParent || !isMeant) return ofFamily(account, tids);
    return isUsable(account) ? account : undefined;
  }

  async function byNationalId(hint: string, tids: readonly string[] | undefined): Promise<readonly Account[]> {
    const [tid, ...others] = tids ?? [];
    // The hash of a national id is keyed by the tenant's id.
    if (tid === undefined || others.length > 0) return [];
    const person = await directory.forTenant(tid).persons.findByNationalId(hint);
    const account = person?.user && (await accounts.findByOid(person.user.id));
    return account && isUsable(account) ? [account] : [];
  }

  return {
    /** Returns the account that a `login_hint` means. All kinds of hints cause the same look-ups, so that the time does not reveal the kind. */
    async ofText({ userIdOf }: ClientRequest, hint: string, tids: readonly string[] | undefined): Promise<Account | undefined> {
      const [id, byName, byEmail, byNumber] = await Promise.all([
        byId(userIdOf(hint), tids),
        accounts.candidates(hint, { tids, isParentNameAllowed: true }),
        accounts.withEmail(hint, tids),
        byNationalId(hint, tids),
      ]);
      if (id) return id;
      // A user name, also of a parent account, may be the address of another user. A hint that two accounts match means neither.
      return onlyOne([...byName, ...byEmail, ...byNumber]);
    },

    /** Returns the account that a token means, if the token may mean it here. */
    async ofToken(account: Account | undefined, tids: readonly string[] | undefined): Promise<Account | undefined> {
      if (!account) return undefined;
      const isMeant = tids?.includes(account.tenant.id) ?? true;
      return isMeant ? (isUsable(account) ? account : undefined) : ofFamily(account, tids);
    },
  };
}
