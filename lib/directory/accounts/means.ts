/**
 * Comparison of means with the privileges that they open. By a means, somebody signs in to an account or joins a group.
 *
 * Means are compared when they are used, and the use is refused if the voucher is too weak. A grant of privileges compares them too, so that the
 * administrator can confirm the means that would stop working. Only a voucher of a tenant's administrator has limits, so privileges are read only for it.
 */
import type { Attribution } from '../../events.js';
import type { ExternalIdentity, Group, Person, PersonWithUser, Voucher } from '../../store/records/records.js';
import type { DirectoryContext, Privilege } from '../context.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import { createPersonRows } from '../persons/person-rows.js';
import { hasUser } from '../persons/user-record.js';
import { covers, isListed, meansOf, type VouchedMeans, voucherFor, weaker, withVoucher } from '../vouchers.js';
import type { Account } from './accounts.js';
import type { Privileges } from './privileges.js';

export type GroupRef = Pick<Group, 'id' | 'tid'>;

/** A source of group memberships besides the directory: connections, by the claims of their providers. */
export interface GroupSource {
  /** The means of the source that give the group, with their vouchers. */
  of(group: GroupRef): Promise<readonly VouchedMeans[]>;
  /** Records the voucher, unless the means is no longer as it was listed. The write itself compares it. */
  confirm(group: GroupRef, means: VouchedMeans, vouchedBy: Voucher, by: Attribution): Promise<void>;
}

/** A user with means whose vouchers do not cover the user's privileges, as they were compared. */
export interface UnconfirmedUser {
  readonly person: PersonWithUser;
  readonly means: readonly VouchedMeans[];
}

export interface AccountMeans {
  /** Returns the voucher of the caller for a means that it writes now for the account. @param person absent for a new one */
  voucher(tid: string, person?: Person): Promise<Voucher>;
  /** Whether a means with this voucher opens the account now. A parent's means opens its linked accounts too. */
  open(voucher: Voucher | undefined, person: PersonWithUser): Promise<boolean>;
  /** Whether an identity opens the account now, by the voucher that the person's record has for the identity. */
  opens(identity: ExternalIdentity, person: PersonWithUser): Promise<boolean>;
  /** Returns the voucher of a sign-in to the account: no more than the identity by which the person signed in. @param idp of the sign-in */
  ofSignIn(idp: string, account: Account): Voucher | undefined;
  /** Whether a means with this voucher may put users into the group. */
  give(voucher: Voucher | undefined, group: Pick<Group, 'tid' | 'permissionIds'>): boolean;
  /**
   * Returns the user and its parent, if they have means whose vouchers do not cover the privileges of the account.
   * @param added privileges that the user is about to get
   */
  unconfirmed(person: PersonWithUser, added?: readonly Privilege[]): Promise<readonly UnconfirmedUser[]>;
  /** Returns such users among the members of a group that is about to get privileges, and their parents. */
  unconfirmedMembers(group: GroupRef, added: readonly Privilege[]): AsyncIterable<UnconfirmedUser>;
  /** Returns means that put users into the group and do not cover its privileges. */
  unconfirmedSources(group: GroupRef, added: readonly Privilege[]): Promise<readonly VouchedMeans[]>;
  /** Records that the caller vouches for the means of these users. A means that was written since it was listed keeps its voucher. */
  confirm(users: readonly UnconfirmedUser[]): Promise<void>;
  confirmSources(group: GroupRef, listed: readonly VouchedMeans[]): Promise<void>;
  /** Adds a source of group memberships. */
  addSource(source: GroupSource): void;
}

const PAGE = 200;

export function createAccountMeans(context: DirectoryContext, privileges: Privileges, sources: GroupSource[]): AccountMeans {
  const { persons } = context.collections;
  const isTenants = ({ vouchedBy }: { readonly vouchedBy?: Voucher | undefined }) => vouchedBy?.by === 'tenant';

  /** While a user is linked, the means of its parent sign it in. */
  async function holdersOf(person: PersonWithUser): Promise<readonly PersonWithUser[]> {
    const { parentUserId } = person.user;
    const parents = parentUserId === undefined ? [] : await persons.find({ byUser: [parentUserId] });
    return [person, ...parents.filter(hasUser)];
  }

  async function ofHolder(person: PersonWithUser, added: readonly Privilege[]): Promise<readonly UnconfirmedUser[]> {
    const all = meansOf(person).filter(isTenants);
    if (all.length === 0) return [];
    const held = [...(await privileges.of(person)), ...added];
    const means = all.filter(({ vouchedBy }) => !covers(vouchedBy, held));
    return means.length === 0 ? [] : [{ person, means }];
  }

  const open: AccountMeans['open'] = async (voucher, person) => voucher?.by !== 'tenant' || covers(voucher, await privileges.of(person));

  const unconfirmed: AccountMeans['unconfirmed'] = async (person, added = []) =>
    (await Promise.all((await holdersOf(person)).map((holder) => ofHolder(holder, added)))).flat();

  const confirm: AccountMeans['confirm'] = async (users) => {
    for (const { person, means } of users) {
      const vouchedBy = await voucherFor(context, person.tid, person);
      const event = pendingEvent('PersonUpdated', person.tid, { AggregateId: person.id });
      await createPersonRows(context, person.tid).updateByUser(person.user.id, (row) =>
        withEvents({ ...withVoucher(row, means, vouchedBy), updatedAt: new Date() }, event),
      );
    }
  };

  return {
    voucher: (tid, person) => voucherFor(context, tid, person),
    open,
    opens: ({ idp, subject }, person) =>
      open(person.user.externalIdentities.find((one) => one.idp === idp && one.subject === subject)?.vouchedBy, person),
    ofSignIn: (idp, { owner, person }) =>
      (owner?.person ?? person).user.externalIdentities
        .filter((one) => one.idp === idp)
        .reduce<Voucher | undefined>((least, { vouchedBy }) => weaker(least, vouchedBy), { by: 'person' }),
    give: (voucher, group) => covers(voucher, privileges.ofGroups([group])),
    unconfirmed,
    confirm,

    async *unconfirmedMembers({ id, tid }, added) {
      for (let after: string | undefined; ; ) {
        const page = await persons.find({ byGroup: [id] }, { limit: PAGE, ...(after !== undefined && { after }) });
        for (const member of page.filter(hasUser)) if (member.tid === tid) yield* await unconfirmed(member, added);
        after = page.at(-1)?.id;
        if (page.length < PAGE) return;
      }
    },

    async unconfirmedSources(group, added) {
      const given = (await Promise.all(sources.map((source) => source.of(group)))).flat();
      return given.filter(({ vouchedBy }) => !covers(vouchedBy, added));
    },

    async confirmSources(group, listed) {
      const vouchedBy = await voucherFor(context, group.tid);
      for (const source of sources)
        for (const each of await source.of(group)) if (isListed(each, listed)) await source.confirm(group, each, vouchedBy, context.by);
    },

    addSource: (source) => void sources.push(source),
  };
}
