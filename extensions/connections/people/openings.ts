/** Accounts that recorded identities open: all accounts, the accounts that may sign in here, and the accounts that the person must acknowledge first. */
import { type Account, type ExtensionContext, type ExternalIdentity, type Interaction, isClaimed } from '../../../lib/extension-door.js';
import { isFor } from '../lookup.js';
import type { Connection } from '../records.js';
import { RefusedAnswer, type Upstream } from '../upstream/answer.js';
import { updatePerson } from './mapping.js';

/** Members of an interaction that restrict the accounts of the sign-in. */
export type Narrowed = Pick<Interaction, 'tids' | 'eventMetadata'>;

/** An account, and the identity that opens it. A linked account is opened by an identity of its parent account. */
export interface Opening {
  readonly account: Account;
  readonly identity: ExternalIdentity;
  /** Whether the person must acknowledge the account first. */
  readonly isClaim: boolean;
  /** Id of the only tenant whose requests the sign-in answers, as in `SignIn`. */
  readonly heldTo?: string;
}

/** Maximum claimed accounts on the page: first one account of each tenant, then a second account of each tenant. */
const MOST_CLAIMS = 100;
/** Maximum claimed accounts of one tenant, so that its administrator cannot hide accounts of other tenants. */
const MOST_OF_TENANT = 10;
/** Maximum claims of one tenant whose groups and linked accounts are read to find these accounts. */
const MOST_READ = 50;

export const isOpen = ({ person, tenant }: Account): boolean => person.user.status === 'active' && tenant.status === 'active';

/** Returns whether the account is invited, and becomes active by its first sign-in with an identity that an administrator recorded. */
export const isWaiting = ({ person, tenant, unmetPolicy }: Account): boolean =>
  person.user.status === 'invited' && tenant.status === 'active' && unmetPolicy === undefined;

/** Returns whether the account's tenant allows sign-ins by the connection. */
export const allows = ({ tenant: { signIn } }: Pick<Account, 'tenant'>, { id }: Connection): boolean =>
  signIn?.methods?.some((name) => name === id || name === METHOD) ?? true;

const isHere = (account: Account, connection: Connection, { tids }: Narrowed): boolean =>
  (tids?.includes(account.tenant.id) ?? true) && allows(account, connection);

export class Openings {
  readonly #context: ExtensionContext;

  constructor(context: ExtensionContext) {
    this.#context = context;
  }

  /** Returns the accounts that have the identity, in tenants that may use the connection. Identities of linked accounts do not count. */
  async recorded(connection: Connection, subject: string, narrowed: Narrowed): Promise<readonly Opening[]> {
    const { directory, records } = this.#context;
    const accounts = await directory.accounts.ofIdentity({ idp: connection.id, subject });
    const owners = accounts.filter(
      ({ person, tenant }) => isFor(connection, records.ofInstance, tenant.id) && person.user.parentUserId === undefined,
    );
    return owners.flatMap((owner) => {
      const identity = owner.person.user.externalIdentities.find((one) => one.idp === connection.id && one.subject === subject);
      return identity ? this.#opening(connection, owner, owner, identity, narrowed) : [];
    });
  }

  /** Returns the accounts that the identity opens in any sign-in. */
  async openedAccounts(connection: Connection, subject: string): Promise<readonly Account[]> {
    return (await this.recorded(connection, subject, {})).filter(({ isClaim }) => !isClaim).map(({ account }) => account);
  }

  /** Returns the ways in which identities of the connection open the account here, as they are recorded now. */
  ofAccount(connection: Connection, account: Account, narrowed: Narrowed): readonly Opening[] {
    const owner = account.owner ?? account;
    const { person, tenant } = owner;
    if (!isFor(connection, this.#context.records.ofInstance, tenant.id) || person.user.parentUserId !== undefined) return [];
    return person.user.externalIdentities
      .filter(({ idp }) => idp === connection.id)
      .map((identity) => this.#opening(connection, owner, account, identity, narrowed));
  }

  /**
   * Returns whether all writers held the privileges that the account has. The writers wrote the identity, the settings of the connection, or the account
   * link of a linked account.
   */
  async opens({ account, identity }: Pick<Opening, 'account' | 'identity'>): Promise<boolean> {
    const { means } = this.#context.directory;
    return (await means.opens(identity, (account.owner ?? account).person)) && means.admits(account);
  }

  /** Returns the openings for which {@link opens} is true. */
  async confirmed(openings: readonly Opening[]): Promise<readonly Opening[]> {
    const isOpened = await Promise.all(openings.map((one) => this.opens(one)));
    return openings.filter((_, index) => isOpened[index]);
  }

  /** Returns the accounts that claims open here. Claims of one tenant cannot hide accounts of another tenant. */
  async claimed(connection: Connection, claims: readonly Opening[], narrowed: Narrowed): Promise<readonly Opening[]> {
    // Claims that cannot open an account here are not read, and do not count towards the maximum.
    const possible = claims.filter(
      ({ account }) =>
        (isOpen(account) && account.person.user.isParent) ||
        ((isOpen(account) || isWaiting(account)) && isHere(account, connection, narrowed)),
    );
    const tids = [...new Set(possible.map(({ account }) => account.tenant.id))].slice(0, MOST_CLAIMS);
    const ofTenant = (tid: string) => possible.filter(({ account }) => account.tenant.id === tid);
    const opened = await Promise.all(tids.map((tid) => this.#claimedIn(connection, ofTenant(tid), narrowed)));
    const turns = Array.from({ length: MOST_OF_TENANT }, (_, turn) => opened.flatMap((ofOne) => ofOne[turn] ?? []));
    return turns.flat().slice(0, MOST_CLAIMS);
  }

  /** Returns the accounts that openings without claims open here. Activates the owners, and updates them from the claims. @throws RefusedAnswer */
  async certain(
    connection: Connection,
    { claims }: Upstream,
    openings: readonly Opening[],
    narrowed: Narrowed,
  ): Promise<readonly Opening[]> {
    const owners = await Promise.all(
      openings.map(async (one) => ({ ...one, account: await this.activated(one.account, connection, one.identity) })),
    );
    const open = owners.filter(({ account }) => isOpen(account));
    const opened = await this.#fitting(connection, open, narrowed);
    for (const { account, identity } of open)
      await updatePerson(this.#context, connection, account.person, { claims, identity: identity.vouchedBy });
    return opened;
  }

  /** Returns the account. Activates an invited account first, if an administrator recorded the identity for the account. */
  async activated(account: Account, connection: Connection, identity: ExternalIdentity): Promise<Account> {
    if (!isWaiting(account) || !allows(account, connection)) return account;
    return { ...account, person: await this.#context.directory.acceptance.acceptIdentity(account.person, identity) };
  }

  /** @param owner account that has the credentials of the account: the parent account, or the account itself */
  #opening(connection: Connection, owner: Account, account: Account, identity: ExternalIdentity, { tids }: Narrowed): Opening {
    if (connection.tid !== this.#context.records.ofInstance || !isClaimed(owner, identity)) return { account, identity, isClaim: false };
    const tid = owner.tenant.id;
    const isHeld = tids?.length === 1 && tids[0] === tid;
    return { account, identity, isClaim: !isHeld, ...(isHeld && { heldTo: tid }) };
  }

  /** Returns the accounts that claims of one tenant open here. */
  async #claimedIn(connection: Connection, claims: readonly Opening[], narrowed: Narrowed): Promise<readonly Opening[]> {
    const opened: Opening[] = [];
    for (const claim of claims.slice(0, MOST_READ)) {
      if (opened.length >= MOST_OF_TENANT) break;
      if (await this.opens(claim)) opened.push(...(await this.#fitting(connection, [claim], narrowed).catch(nothingFor)));
    }
    return opened.slice(0, MOST_OF_TENANT);
  }

  /** Returns the accounts that the identities of the owners open here. Linked accounts are left out if an owner itself may sign in. @throws RefusedAnswer */
  async #fitting(connection: Connection, owners: readonly Opening[], narrowed: Narrowed): Promise<readonly Opening[]> {
    const { accounts } = this.#context.directory;
    const families = await Promise.all(
      owners.map(async ({ account: owner, identity }) => {
        const family = isWaiting(owner) ? [owner] : isOpen(owner) ? await accounts.family(owner.person) : [];
        return family
          .filter((account) => (isOpen(account) || account === owner) && account.unmetPolicy === undefined)
          .map((account) => this.#opening(connection, owner, account, identity, narrowed));
      }),
    );
    const usable = families.flat();
    if (usable.length === 0) throw new RefusedAnswer('unavailable', 'the account does not allow sign-ins now');
    const here = usable.filter(({ account }) => isHere(account, connection, narrowed));
    if (here.length === 0)
      throw new RefusedAnswer('wrongTenant', 'the tenant of the account may not sign in to this client by this connection');
    const own = here.filter(({ account }) => owners.some((owner) => owner.account.person.id === account.person.id));
    return own.length > 0 ? own : here;
  }
}

/** Returns no accounts for a refusal, and throws other errors. */
export function nothingFor(error: unknown): readonly Opening[] {
  if (error instanceof RefusedAnswer) return [];
  throw error;
}

/** Name of all connections in `signIn.methods` of a tenant. */
export const METHOD = 'connections';
