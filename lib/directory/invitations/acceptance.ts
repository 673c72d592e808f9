import { isDeepStrictEqual } from 'node:util';
import { IdpError } from '../../errors.js';
import type { ExternalIdentity, Invitation, PersonWithUser, User, Voucher } from '../../store/records/records.js';
import { isEmailAddress } from '../../text/email-address.js';
import { type Account, credentialOwner } from '../accounts/accounts.js';
import type { Credentials, Proof } from '../accounts/credentials.js';
import { createLinks, type ParentRef } from '../accounts/linking.js';
import type { AccountMeans } from '../accounts/means.js';
import { SLOWEST_MS } from '../accounts/password-changes.js';
import type { DirectoryContext } from '../context.js';
import { isNameOf, newId } from '../identifiers.js';
import type { LinkRef, MailedLinks } from '../mailed-links.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import { ofMailedLink, withEmailVoucher } from '../persons/email-addresses.js';
import { createPersonRows } from '../persons/person-rows.js';
import { externalIdentityKey, hasUser, type JudgeChild } from '../persons/user-record.js';
import { PASSWORD } from '../tenants/sign-in-policy.js';
import type { Tenants } from '../tenants/tenants.js';
import { weaker, withCredentialVoucher } from '../vouchers.js';
import type { InvitationDeliveries } from './invitation-deliveries.js';
import { invitationState } from './invitation-state.js';
import { onBehalf } from './metadata.js';
import { createOpening, type OpenedInvitation } from './opening.js';

export interface AcceptedAccount {
  readonly person: PersonWithUser;
  /** Proof of the person who accepted. Absent if the acceptance proves nothing that signs in. */
  readonly proof?: Proof;
}

/** Acceptance of invitations in any tenant, for the pages of an invitation link. Reading changes nothing. */
export interface Acceptance {
  /** Returns the id and serial of the invitation link of a token; undefined for a token that this service did not create. */
  read(token: string): LinkRef | undefined;
  /** Returns the invitation of an invitation link. Undefined if the invitation no longer exists. */
  open(ref: LinkRef): Promise<OpenedInvitation | undefined>;
  /**
   * Makes the user active, and sets the password if the invitation takes one. If several calls run concurrently, one succeeds.
   * @param from the address that sent the request. Under load, requests from the same address wait for each other.
   * @param by a ticket that only the accepting browser can have. With the same ticket and password, a second call succeeds again, because
   * the first answer may have been lost.
   * @throws IdpError `invitation_over`; `invalid_record`, whose details name the rule, when the password is refused; `busy`.
   */
  accept(ref: LinkRef, password: string | undefined, from?: readonly string[], by?: string): Promise<AcceptedAccount>;
  /**
   * Makes the user active, and links the user to the parent account, in one write. A second call with the same parent account succeeds again.
   * @param judge throws if the user must not be linked
   * @param vouchedBy of the sign-in to the parent account. The account link gets no more than this voucher and the voucher of the invitation
   * link. @default the person
   * @throws IdpError `invitation_over`, and the errors of an account link: `link_chain`, `link_same_tenant`, `link_not_allowed` …
   */
  acceptLinked(ref: LinkRef, parent: ParentRef, judge?: JudgeChild, vouchedBy?: Voucher): Promise<AcceptedAccount>;
  /**
   * Makes an invited user active who has proven an external identity that is recorded for the user. The call also accepts an open invitation.
   * A user of another status is unchanged.
   */
  acceptIdentity(person: PersonWithUser, identity: ExternalIdentity): Promise<PersonWithUser>;
}

interface Parts {
  readonly context: DirectoryContext;
  readonly tenants: Tenants;
  readonly credentials: Credentials;
  readonly invitationDeliveries: InvitationDeliveries;
  readonly links: MailedLinks;
  readonly means: Pick<AccountMeans, 'open'>;
}

/**
 * Creates the acceptance of invitations. The person's document alone decides. One write, which requires an invited user with this invitation link, makes
 * the user active, and no second write can follow. Before this write, the password is stored under a separate id, and the write names this id. After a
 * crash at any step, either the invitation link still works, or the user is active and gets the named password.
 */
export function createAcceptance({ context, tenants, credentials, invitationDeliveries, links, means }: Parts): Acceptance {
  const { now } = context;
  const open = createOpening({ context, tenants, means });

  return {
    read: links.read,
    open,

    async accept(ref, password, from = [], by = undefined) {
      const startedAt = now();
      const opened = await open(ref);
      if (opened?.state === 'accepted')
        return acceptedBefore({ credentials, invitationDeliveries }, opened, { password, from, by, at: new Date(startedAt) });
      const { takes, person, tenant, invitation } = pending(opened);
      if (takes === 'link' || (takes === 'password') !== (password !== undefined)) throw new IdpError('invitation_over');
      const passwordHash = password === undefined ? undefined : await credentials.hashFor(person.user, password, from);
      const credentialId = passwordHash === undefined ? undefined : newId();
      const { release } = await invitationDeliveries.enqueue({ id: ref.id, ...(credentialId && { credentialId }) });
      if (credentialId !== undefined && passwordHash !== undefined) await credentials.setFirstHash(credentialId, passwordHash);
      const rows = createPersonRows(onBehalf(context, invitation), tenant.id);
      let isOurs = false;
      const accepted = await rows.update(person.id, (row) => {
        const isInTime = credentialId === undefined || now() - startedAt < SLOWEST_MS;
        const isSame = credentialId === undefined || row.user?.parentUserId === undefined;
        isOurs = isInTime && isSame && invitationState(row.user, ref, now()) === 'pending' && hasSameGroups(row.user, person.user);
        return isOurs ? activated(now, row as PersonWithUser, invitation, { credentialId, by }) : row;
      });
      if (!isOurs || !hasUser(accepted)) {
        if (credentialId !== undefined) await credentials.forget(credentialId);
        throw new IdpError('invitation_over');
      }
      await invitationDeliveries.updateRow(ref.id);
      release();
      const account: Account = { person: accepted, tenant };
      const isOwn = credentialId !== undefined && credentialOwner(accepted.user) === accepted.user.id;
      return { person: accepted, ...(isOwn && { proof: await credentials.proofOf(account, accepted.user.accepted?.at) }) };
    },

    async acceptLinked(ref, parent, judge, ofSignIn) {
      const opened = await open(ref);
      if (opened?.state === 'accepted' && opened.takes === 'link' && opened.person.user.parentUserId === parent.userId) {
        await invitationDeliveries.updateRow(ref.id);
        return { person: opened.person };
      }
      const { takes, person, tenant, invitation } = pending(opened);
      if (takes !== 'link') throw new IdpError('invitation_over');
      await invitationDeliveries.enqueue({ id: ref.id });
      const { link } = createLinks(onBehalf(context, invitation));
      const joined = (child: PersonWithUser): PersonWithUser => {
        if (invitationState(child.user, ref, now()) !== 'pending' || !hasSameGroups(child.user, person.user))
          throw new IdpError('invitation_over');
        return activated(now, child, invitation);
      };
      const linked = await link({ tid: tenant.id, userId: person.user.id }, parent, {
        joined,
        judge,
        vouchedBy: weaker(ofSignIn, voucherOfLink(person)) ?? { by: 'person' },
      });
      await invitationDeliveries.updateRow(ref.id);
      return { person: linked };
    },

    async acceptIdentity({ id, tid, user }, identity) {
      const key = externalIdentityKey(identity);
      if (user.invitation) await invitationDeliveries.enqueue({ id: user.invitation.id });
      const accepted = await createPersonRows(context, tid).update(id, (row) =>
        row.user?.status === 'invited' && row.user.id === user.id && row.user.externalIdentityKeys.includes(key)
          ? registered(now, row as PersonWithUser)
          : row,
      );
      if (user.invitation) await invitationDeliveries.updateRow(user.invitation.id);
      if (!hasUser(accepted)) throw new IdpError('not_found');
      return accepted;
    },
  };
}

/** Returns the acceptance that the same caller made before. Completes the acceptance, because the node that made it may have stopped. */
async function acceptedBefore(
  { credentials, invitationDeliveries }: Pick<Parts, 'credentials' | 'invitationDeliveries'>,
  { ref, person, tenant }: OpenedInvitation,
  {
    password,
    from,
    by,
    at,
  }: { readonly password: string | undefined; readonly from: readonly string[]; readonly by: string | undefined; readonly at: Date },
): Promise<AcceptedAccount> {
  if (by === undefined || person.user.accepted?.by !== by) throw new IdpError('invitation_over');
  await invitationDeliveries.updateRow(ref.id);
  if (password === undefined) return { person };
  const account: Account = { person, tenant };
  if ((await credentials.checkPassword([account], password, { from })).length === 0) throw new IdpError('invitation_over');
  return { person, proof: await credentials.proofOf(account, at) };
}

function pending<Opened extends OpenedInvitation>(opened: Opened | undefined): Opened {
  if (opened?.state !== 'pending') throw new IdpError('invitation_over');
  return opened;
}

/**
 * Returns whether the user has the same groups as before. A group that the user joined since may give privileges that the invitation link
 * must not open.
 */
const hasSameGroups = (current: User | undefined, judged: User): boolean => isDeepStrictEqual(current?.groupIds, judged.groupIds);

/** Returns the voucher of a person who used the invitation link. A mailed invitation link counts for no more than its address. */
const voucherOfLink = (person: PersonWithUser): Voucher | undefined => {
  const { invitation } = person.user;
  return invitation?.send ? ofMailedLink(invitation.vouchedBy, person) : invitation?.vouchedBy;
};

function activated(
  now: () => number,
  row: PersonWithUser,
  invitation: Invitation,
  { credentialId, by }: { readonly credentialId?: string | undefined; readonly by?: string | undefined } = {},
): PersonWithUser {
  const { invitation: open, ...user } = row.user;
  // A person who has the invitation link has the mailbox, unless another person saw the link.
  const hasMail = open?.send === true && open.fetches === undefined && row.email !== undefined && isEmailAddress(row.email);
  const isProven = hasMail && isNameOf(user, row.email);
  const accepted = { id: invitation.id, at: new Date(now()), ...(credentialId && { credentialId }), ...(by && { by }) };
  // Another person may have opened the invitation link, so the password gets no more than the link's voucher.
  const ofLink = voucherOfLink(row);
  const vouched = credentialId === undefined ? user : withCredentialVoucher(user, { kind: PASSWORD }, ofLink);
  const next: PersonWithUser = {
    ...(hasMail ? withEmailVoucher(row, ofLink ?? { by: 'person' }) : row),
    user: { ...vouched, status: 'active', emailVerified: user.emailVerified || isProven, accepted },
    updatedAt: new Date(now()),
  };
  const data = { AggregateId: user.id, InvitationId: invitation.id };
  return withEvents(next, pendingEvent(now, 'UserRegistered', row.tid, data));
}

/** Returns the user as active by the identity, with the invitation accepted. */
function registered(now: () => number, row: PersonWithUser): PersonWithUser {
  const { invitation, ...user } = row.user;
  const acceptedAt = new Date(now());
  const accepted = invitation && { accepted: { id: invitation.id, at: acceptedAt } };
  const data = { AggregateId: user.id, ...(invitation && { InvitationId: invitation.id }) };
  return withEvents(
    { ...row, user: { ...user, status: 'active', ...accepted }, updatedAt: acceptedAt },
    pendingEvent(now, 'UserRegistered', row.tid, data),
  );
}
