/**
 * Comparison of sign-in means with the privileges that they open. By a means, a user signs in to an account or joins a group.
 *
 * Means are compared when they are used, and the service refuses the use if the voucher is too weak. A grant of privileges compares them
 * too, so that the administrator can confirm the means that would stop working. Only the voucher of a tenant's administrator has limits, so
 * privileges are read for no other voucher.
 */
import { hash } from 'node:crypto';
import type { Attribution } from '../../events.js';
import { NOTHING } from '../../store/records/readable-part.js';
import type { CredentialRef, ExternalIdentity, Group, Person, PersonWithUser, Voucher } from '../../store/records/records.js';
import type { DirectoryContext, Privilege } from '../context.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import { createPersonRows } from '../persons/person-rows.js';
import { hasUser } from '../persons/user-record.js';
import { PASSWORD } from '../tenants/sign-in-policy.js';
import {
  addressesOf,
  covers,
  credentialVoucherOf,
  meansOf,
  type VouchedMeans,
  voucherFor,
  weaker,
  withCredentialVoucher,
  withVoucher,
} from '../vouchers.js';
import { type Account, type Accounts, credentialOwner } from './accounts.js';
import type { Privileges } from './privileges.js';

export type GroupRef = Pick<Group, 'id' | 'tid'>;

/**
 * A source of means in addition to the directory: connections. The settings of a connection decide which users its provider signs in, and
 * which groups the users get.
 */
export interface MeansSource {
  /** Returns the means of the source that give the group, with their vouchers. */
  ofGroup(group: GroupRef): Promise<readonly VouchedMeans[]>;
  /** Returns, as a means, the settings by which identities of this `idp` sign in users of the tenant. Undefined for the `idp` of another source or tenant. */
  ofIdp(idp: string, tid: string): Promise<VouchedMeans | undefined>;
  /**
   * Records that an administrator vouches for the settings, and for the mappings that give the group. If the means has changed since it was
   * listed, nothing is written; the write itself checks for the change. Vouchers that cover the privileges stay.
   */
  confirm(means: VouchedMeans, confirmation: Confirmation): Promise<void>;
}

export interface Confirmation {
  readonly vouchedBy: Voucher;
  readonly privileges: readonly Privilege[];
  /** @default no group: the settings alone */
  readonly group?: GroupRef;
  readonly by: Attribution;
}

/** The method by which a person signed in, as the sign-in states it. */
export interface SignInRef {
  readonly idp: string;
  /** Method of the sign-in, as in `SignIn`. @default the password, for a `local` sign-in */
  readonly method?: string | undefined;
  /**
   * The subject of the identity, or the id of the credential, by which the person signed in; or what `limitOf` returned for the sign-in. @default unknown
   */
  readonly used?: string | undefined;
}

/** A sign-in that began earlier, as its session or grant stores it. */
export interface BegunSignIn extends Pick<SignInRef, 'idp' | 'used'> {
  /** The user whose credential the sign-in rests on. @default the user whose credentials sign in to the account now */
  readonly owner?: string | undefined;
}

/** A user with means whose vouchers do not cover the user's privileges, as they were compared. */
export interface UnconfirmedUser {
  readonly person: PersonWithUser;
  readonly privileges: readonly Privilege[];
  readonly means: readonly VouchedMeans[];
}

export interface AccountMeans {
  /** Returns the voucher of the caller for a means that the caller writes now for the account. @param person absent for a new person */
  voucher(tid: string, person?: Person): Promise<Voucher>;
  /** Returns whether a means with this voucher opens the account now. A means of a parent account opens its linked accounts too. */
  open(voucher: Voucher | undefined, person: PersonWithUser): Promise<boolean>;
  /**
   * Returns whether an identity opens the account now. Two vouchers decide: the voucher of the identity in the person's record, and the voucher of the
   * settings of its `idp`.
   */
  opens(identity: ExternalIdentity, person: PersonWithUser): Promise<boolean>;
  /**
   * Returns the voucher of a sign-in to the account. The voucher covers no more than each of these:
   * - the identity with its settings, the password or the factors by which the person signed in,
   * - the account link of a linked account.
   *
   * If the sign-in does not state what it used, the weakest possible means counts.
   */
  ofSignIn(signIn: SignInRef, account: Account): Promise<Voucher | undefined>;
  /**
   * Returns the value that a sign-in that begins now must store as `used`: a digest of the means and its voucher. Undefined for most
   * sign-ins, because no tenant's administrator vouched for the means.
   */
  limitOf(signIn: SignInRef, account: Account): Promise<string | undefined>;
  /**
   * Returns whether a session or a grant of a sign-in may continue. The vouchers of the means, and of the account link of a linked account,
   * must cover the privileges that the account has now. A means whose voucher has changed since covers no privilege, because the means may
   * have been changed to hide who signed in. Groups come from the same cache as the groups in claims, so no token gets a privilege that was
   * not compared. If no voucher has limits, the result needs no store and no promise.
   */
  goesOn(signIn: BegunSignIn, account: Account): boolean | Promise<boolean>;
  /**
   * Returns whether the account's credentials sign in to it now, by the vouchers of the credential and, of a linked account, of its account link. Reads the
   * store only if a tenant's administrator vouched for one of them.
   * @param credential of the account that owns the credentials; absent where another rule judges the credential
   */
  admits(account: Account, credential?: CredentialRef): Promise<boolean>;
  /** Returns the credentials of a user that do not count now. */
  refused(owner: PersonWithUser): Promise<readonly CredentialRef[]>;
  /**
   * Records the voucher of a credential that is set now. An extension calls the method before it stores the credential, so that no crash
   * leaves a credential with too strong a voucher.
   * @param vouchedBy absent for a credential that was removed
   */
  vouchFor(owner: PersonWithUser, credential: CredentialRef, vouchedBy: Voucher | undefined): Promise<void>;
  /** Returns whether a means with this voucher may put users into the group. */
  give(voucher: Voucher | undefined, group: Pick<Group, 'tid' | 'permissionIds'>): boolean;
  /**
   * Returns the user and the user of the parent account, if they have means whose vouchers do not cover the privileges of the account.
   * @param added privileges that the user is about to get
   */
  unconfirmed(person: PersonWithUser, added?: readonly Privilege[]): Promise<readonly UnconfirmedUser[]>;
  /** Returns the address of a person who is about to get a user, as a means. Returns no address whose voucher covers the privileges of the user. */
  unconfirmedAddress(person: Person, privileges: readonly Privilege[]): readonly VouchedMeans[];
  /**
   * Returns the members of a group that is about to get privileges, and their parent accounts. Returns only users who have means whose vouchers do not
   * cover the privileges.
   */
  unconfirmedMembers(group: GroupRef, added: readonly Privilege[]): AsyncIterable<UnconfirmedUser>;
  /** Returns means that put users into the group, and whose vouchers do not cover its privileges. */
  unconfirmedSources(group: GroupRef, added: readonly Privilege[]): Promise<readonly VouchedMeans[]>;
  /** Records that the caller vouches for the means of these users. A means that was changed since it was listed keeps its voucher. */
  confirm(users: readonly UnconfirmedUser[]): Promise<void>;
  confirmSources(group: GroupRef, listed: readonly VouchedMeans[], added: readonly Privilege[]): Promise<void>;
  /** Returns whether a source has settings for identities of this `idp`. The source then judges these identities. */
  hasSettings(idp: string, tid: string): Promise<boolean>;
  /** Adds a source of means. */
  addSource(source: MeansSource): void;
}

const PAGE = 200;
/** The `idp` of sign-ins by credentials of this service. */
const LOCAL = 'local';
interface UsableMeans {
  /** The subject of the identity, or the id of the credential. */
  readonly name: string;
  readonly vouchedBy: Voucher | undefined;
}

const digestOf = ({ name, vouchedBy: { by, tids, permissionIds } = { by: 'operator' } }: UsableMeans): string =>
  `${KEPT}${hash('sha256', JSON.stringify([name, by, tids, permissionIds]), 'base64url')}`;

/** First character of a digest. No subject and no id begins with this character, because texts have no control characters. */
const KEPT = '\u0001';

/** Sources of the privileges with which vouchers are compared. */
export interface MeansParts {
  readonly privileges: Privileges;
  readonly accounts: Pick<Accounts, 'storedGroups'>;
  readonly sources: MeansSource[];
}

export const createAccountMeans = (context: DirectoryContext, parts: MeansParts): AccountMeans => new ComparedMeans(context, parts);

/** Returns whether a tenant's administrator vouched for the means. Only such a voucher has limits. */
const isTenants = ({ vouchedBy }: { readonly vouchedBy?: Voucher | undefined }) => vouchedBy?.by === 'tenant';

class ComparedMeans implements AccountMeans {
  readonly #context: DirectoryContext;
  readonly #parts: MeansParts;

  constructor(context: DirectoryContext, parts: MeansParts) {
    this.#context = context;
    this.#parts = parts;
  }

  async #settingsOfIdp(idp: string, tid: string): Promise<VouchedMeans | undefined> {
    const settings = await Promise.all(this.#parts.sources.map((source) => source.ofIdp(idp, tid)));
    return settings.find((one) => one !== undefined);
  }

  /** Returns the settings by which identities of the user sign in, each once. */
  async #settingsOf({ tid, user }: PersonWithUser): Promise<readonly VouchedMeans[]> {
    const idps = [...new Set(user.externalIdentities.map(({ idp }) => idp))];
    const settings = await Promise.all(idps.map((idp) => this.#settingsOfIdp(idp, tid)));
    return settings.flatMap((one) => (one ? [{ ...one, userId: user.id }] : []));
  }

  /** Returns the persons whose means sign the user in: the person and, of a linked account, the person of the parent account. */
  async #holdersOf(person: PersonWithUser): Promise<readonly PersonWithUser[]> {
    const { parentUserId } = person.user;
    const parents = parentUserId === undefined ? [] : await this.#context.collections.persons.find({ byUser: [parentUserId] });
    return [person, ...parents.filter(hasUser)];
  }

  /**
   * Returns the means whose vouchers do not cover the privileges of the person and the added privileges, with all these privileges. Reads
   * the privileges only if a tenant's administrator vouched for one of the means.
   */
  async #uncovered<M extends { readonly vouchedBy?: Voucher | undefined }>(
    person: PersonWithUser,
    all: readonly M[],
    added: readonly Privilege[] = [],
  ): Promise<{ readonly means: readonly M[]; readonly held: readonly Privilege[] }> {
    const limited = all.filter(isTenants);
    if (limited.length === 0) return { means: [], held: [] };
    const privileges = [...(await this.#parts.privileges.of(person)), ...added];
    return { means: limited.filter(({ vouchedBy }) => !covers(vouchedBy, privileges)), held: privileges };
  }

  async #ofHolder(person: PersonWithUser, added: readonly Privilege[]): Promise<readonly UnconfirmedUser[]> {
    const { means, held } = await this.#uncovered(
      person,
      [...meansOf(person, this.#context.now()), ...(await this.#settingsOf(person))],
      added,
    );
    return means.length === 0 ? [] : [{ person, privileges: held, means }];
  }

  async open(voucher: Voucher | undefined, person: PersonWithUser): Promise<boolean> {
    return voucher?.by !== 'tenant' || covers(voucher, await this.#parts.privileges.of(person));
  }

  /** Returns the means of the owner by which a sign-in of this `idp` may have come. Each means has the voucher that it has together with its settings. */
  async #usableOf(idp: string, { tid, user }: PersonWithUser): Promise<readonly UsableMeans[]> {
    if (idp === LOCAL) return (user.credentialVouchers ?? []).map(({ kind, id = kind, vouchedBy }) => ({ name: id, vouchedBy }));
    const settings = (await this.#settingsOfIdp(idp, tid))?.vouchedBy;
    const own = user.externalIdentities.filter((one) => one.idp === idp);
    return own.map(({ subject, vouchedBy }) => ({ name: subject, vouchedBy: weaker(vouchedBy, settings) }));
  }

  /** Returns the voucher of one means of the owner of the credentials. @param used name of the means, or the digest that a sign-in stored */
  async #voucherOfUsed({ idp = LOCAL, used }: Pick<BegunSignIn, 'idp'> & { readonly used: string }, owner: PersonWithUser) {
    const usedMeans = (await this.#usableOf(idp, owner)).find((one) => one.name === used || digestOf(one) === used);
    // The means was removed, or its voucher changed, after the sign-in.
    return usedMeans ? usedMeans.vouchedBy : NOTHING;
  }

  /** Returns the privileges that a sign-in of the person opens. Only the groups of child accounts are read past the cache. */
  async #openedBy(person: PersonWithUser): Promise<readonly Privilege[]> {
    const { privileges, accounts } = this.#parts;
    return person.user.isParent ? privileges.of(person) : privileges.ofGroups(await accounts.storedGroups(person));
  }

  goesOn({ idp, used, owner }: BegunSignIn, account: Account): boolean | Promise<boolean> {
    const { person } = account;
    const isLinked = (owner ?? credentialOwner(person.user)) !== person.user.id;
    const link = isLinked ? person.user.parentVouchedBy : undefined;
    if (link?.by !== 'tenant' && used === undefined) return true;
    const holder = isLinked ? account.owner : account;
    return (async () => {
      if (!holder || (link?.by === 'tenant' && !covers(link, await this.#openedBy(person)))) return false;
      if (used === undefined) return true;
      const privileges = await this.#openedBy(holder.person);
      return privileges.length === 0 || covers(await this.#voucherOfUsed({ idp, used }, holder.person), privileges);
    })();
  }

  async limitOf({ idp, method = PASSWORD, used }: SignInRef, account: Account): Promise<string | undefined> {
    const { person } = account.owner ?? account;
    const limited = (await this.#usableOf(idp, person)).filter(isTenants);
    const named = used ?? (idp === LOCAL ? method === PASSWORD && PASSWORD : limited[0]?.name);
    const usedMeans = limited.find(({ name }) => name === named);
    return usedMeans && digestOf(usedMeans);
  }

  async admits({ person, owner }: Account, credential?: CredentialRef): Promise<boolean> {
    const holder = owner?.person ?? person;
    return (
      (credential === undefined || (await this.open(credentialVoucherOf(holder.user, credential), holder))) &&
      (await this.open(person.user.parentVouchedBy, person))
    );
  }

  async refused(owner: PersonWithUser): Promise<readonly CredentialRef[]> {
    return (await this.#uncovered(owner, owner.user.credentialVouchers ?? [])).means;
  }

  async vouchFor({ tid, user }: PersonWithUser, credential: CredentialRef, vouchedBy: Voucher | undefined): Promise<void> {
    if (vouchedBy?.by !== 'tenant' && credentialVoucherOf(user, credential) === undefined) return;
    await createPersonRows(this.#context, tid).updateByUser(user.id, (row) => ({
      ...row,
      user: withCredentialVoucher(row.user, credential, vouchedBy),
    }));
  }

  async unconfirmed(person: PersonWithUser, added: readonly Privilege[] = []): Promise<readonly UnconfirmedUser[]> {
    return (await Promise.all((await this.#holdersOf(person)).map((holder) => this.#ofHolder(holder, added)))).flat();
  }

  async confirm(users: readonly UnconfirmedUser[]): Promise<void> {
    for (const { person, privileges: held, means } of users) {
      const vouchedBy = await voucherFor(this.#context, person.tid, person);
      const event = pendingEvent(this.#context.now, 'PersonUpdated', person.tid, { AggregateId: person.id });
      await createPersonRows(this.#context, person.tid).updateByUser(person.user.id, (row) =>
        withEvents({ ...withVoucher(row, means, vouchedBy, this.#context.now()), updatedAt: new Date(this.#context.now()) }, event),
      );
      for (const source of this.#parts.sources)
        for (const each of means) await source.confirm(each, { vouchedBy, privileges: held, by: this.#context.by });
    }
  }

  voucher(tid: string, person?: Person): Promise<Voucher> {
    return voucherFor(this.#context, tid, person);
  }

  async opens({ idp, subject }: ExternalIdentity, person: PersonWithUser): Promise<boolean> {
    const recorded = person.user.externalIdentities.find((one) => one.idp === idp && one.subject === subject);
    return this.open(weaker(recorded?.vouchedBy, (await this.#settingsOfIdp(idp, person.tid))?.vouchedBy), person);
  }

  async hasSettings(idp: string, tid: string): Promise<boolean> {
    return (await this.#settingsOfIdp(idp, tid)) !== undefined;
  }

  async ofSignIn({ idp, method = PASSWORD, used }: SignInRef, { owner, person }: Account): Promise<Voucher | undefined> {
    const holder = owner?.person ?? person;
    const { tid, user } = holder;
    if (used !== undefined) return weaker(await this.#voucherOfUsed({ idp, used }, holder), person.user.parentVouchedBy);
    const isUsed = ({ kind }: CredentialRef) => (kind === PASSWORD) === (method === PASSWORD);
    const possible =
      idp === LOCAL ? (user.credentialVouchers ?? []).filter(isUsed) : user.externalIdentities.filter((one) => one.idp === idp);
    const settings = idp === LOCAL ? undefined : await this.#settingsOfIdp(idp, tid);
    const others = [person.user.parentVouchedBy, settings?.vouchedBy].map((vouchedBy) => ({ vouchedBy }));
    return [...possible, ...others].reduce<Voucher | undefined>((least, { vouchedBy }) => weaker(least, vouchedBy), { by: 'person' });
  }

  give(voucher: Voucher | undefined, group: Pick<Group, 'tid' | 'permissionIds'>): boolean {
    return covers(voucher, this.#parts.privileges.ofGroups([group]));
  }

  unconfirmedAddress(person: Person, privileges: readonly Privilege[]): readonly VouchedMeans[] {
    return addressesOf(person).filter(({ vouchedBy }) => !covers(vouchedBy, privileges));
  }

  async *unconfirmedMembers({ id, tid }: GroupRef, added: readonly Privilege[]): AsyncIterable<UnconfirmedUser> {
    for (let after: string | undefined; ; ) {
      const page = await this.#context.collections.persons.find({ byGroup: [id] }, { limit: PAGE, ...(after !== undefined && { after }) });
      for (const member of page.filter(hasUser)) if (member.tid === tid) yield* await this.unconfirmed(member, added);
      after = page.at(-1)?.id;
      if (page.length < PAGE) return;
    }
  }

  async unconfirmedSources(group: GroupRef, added: readonly Privilege[]): Promise<readonly VouchedMeans[]> {
    const given = (await Promise.all(this.#parts.sources.map((source) => source.ofGroup(group)))).flat();
    return given.filter(({ vouchedBy }) => !covers(vouchedBy, added));
  }

  async confirmSources(group: GroupRef, listed: readonly VouchedMeans[], privileges: readonly Privilege[]): Promise<void> {
    const vouchedBy = await voucherFor(this.#context, group.tid);
    for (const source of this.#parts.sources)
      for (const each of listed) await source.confirm(each, { vouchedBy, privileges, group, by: this.#context.by });
  }

  addSource(source: MeansSource): void {
    this.#parts.sources.push(source);
  }
}
