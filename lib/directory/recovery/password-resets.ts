/**
 * Password resets by a mailed reset link.
 *
 * The person's document has the number of the one valid reset link, and its expiry. The reset link is made from the hash keys of the service when it is mailed.
 */

import { isDeepStrictEqual } from 'node:util';
import { IdpError } from '../../errors.js';
import type { Attribution } from '../../events.js';
import { present } from '../../present.js';
import type { PasswordReset, PersonWithUser, Tenant, Voucher } from '../../store/records/records.js';
import type { Account, Accounts } from '../accounts/accounts.js';
import type { Credentials } from '../accounts/credentials.js';
import type { AccountMeans } from '../accounts/means.js';
import { canHavePassword } from '../accounts/own-passwords.js';
import type { ChangePassword } from '../accounts/password-changes.js';
import type { DirectoryContext } from '../context.js';
import { PASSWORD_MINIMUM } from '../credentials/password-rules.js';
import { type LinkRef, type LinkState, linkState, type MailedLinks } from '../mailed-links.js';
import { attributedEvent } from '../outbox/attribution.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import { accountEmailOf, accountEmailVoucherOf, ofMailedLink, withProvenEmail } from '../persons/email-addresses.js';
import { hasUser } from '../persons/user-record.js';

/**
 * `replaced`: a newer reset link replaced this one. `unavailable`: the user cannot sign in by a password now. `unconfirmed`: the user has
 * privileges that the administrator who had the reset link sent, or who wrote the address, did not hold.
 */
export type ResetState = LinkState | 'unconfirmed';

/** A request for a reset link. */
export interface ResetRequest {
  /** Id of the request. The same request returns the same reset link again. */
  readonly requestId: string;
  /** Id of the attempt of a delivery. If a request has several deliveries, one of them gets the reset link. */
  readonly mailing?: string;
  /** Id of the client whose look the pages have. */
  readonly clientId?: string;
  /** Id of the sign-in in which the request was made. */
  readonly uid?: string;
  /**
   * Attribution of an administrator who may request a reset link for the user. With this member, a user without a password gets a reset
   * link too, and an event is raised.
   */
  readonly by?: Attribution;
  /** Voucher of the administrator behind {@link by}. */
  readonly vouchedBy?: Voucher;
  /** The address that the administrator saw. No reset link goes to an address that was written later. */
  readonly address?: string;
}

/** A link to mail now: a reset link, or a link that proves an address. */
export interface DueLink {
  readonly to: string;
  readonly url: string;
  readonly expiresAt: Date;
  readonly person: PersonWithUser;
  readonly tenant: Tenant;
  readonly clientId?: string;
}

/** A reset, as its page sees it. */
export interface OpenedReset {
  readonly ref: LinkRef;
  readonly state: ResetState;
  readonly person: PersonWithUser;
  readonly tenant: Tenant;
  readonly clientId?: string;
  /** Id of the sign-in in which the reset was requested. */
  readonly uid?: string;
  /** Minimum characters of a password. */
  readonly passwordLength: number;
}

/** Resets of users of all tenants. Reading changes nothing. */
export interface PasswordResets {
  /** Returns whether the account signs in by its own password. */
  isPossible(account: Account): boolean;
  /**
   * Creates a reset link for a user, which replaces earlier reset links. Returns undefined for a user who gets none. Returns `unconfirmed`, without a reset
   * link, if the user requested the link and has privileges that the administrator who wrote the address did not hold.
   */
  begin(userId: string, request: ResetRequest): Promise<DueLink | 'unconfirmed' | undefined>;
  /** Returns the reset link of a token; undefined for a token that this service did not make. */
  read(token: string): LinkRef | undefined;
  /** Returns the reset of a reset link. Undefined if nothing of the reset is left. */
  open(ref: LinkRef): Promise<OpenedReset | undefined>;
  /**
   * Sets the password, and ends all sign-ins and tokens of the user and of linked accounts. If several calls run concurrently, one succeeds.
   * @param from address of the request.
   * @throws IdpError `reset_over`; `invalid_record`, with the `rule` in its details, if the password is refused; `busy`.
   */
  accept(ref: LinkRef, password: string, from?: readonly string[]): Promise<void>;
}

export interface RecoveryParts {
  readonly context: DirectoryContext;
  readonly accounts: Accounts;
  readonly credentials: Credentials;
  readonly change: ChangePassword;
  readonly means: Pick<AccountMeans, 'open'>;
  readonly links: MailedLinks;
  /** Seconds for which a mailed link is valid. */
  readonly lifetimeSeconds: number;
  /** Returns the URL of a mailed link's page. */
  readonly urlOf: (token: string) => string;
}

export const createPasswordResets = (parts: RecoveryParts): PasswordResets => ({
  isPossible: canHavePassword,
  begin: (userId, request) => begin(parts, userId, request),
  read: parts.links.read,
  open: (ref) => open(parts, ref),
  accept: (ref, password, from) => accept(parts, ref, password, from),
});

async function begin(parts: RecoveryParts, userId: string, request: ResetRequest): ReturnType<PasswordResets['begin']> {
  const { context, accounts, credentials, means, links } = parts;
  const { requestId, mailing, clientId, by } = request;
  const account = await accounts.findByOid(userId);
  if (!account || !canHavePassword(account) || accountEmailOf(account.person) === undefined) return undefined;
  if (!by && !(await credentials.isSet(userId))) return undefined;
  if (!by && !(await means.open(accountEmailVoucherOf(account.person), account.person))) return 'unconfirmed';
  const person = await context.collections.persons.update(account.person.id, (row) =>
    hasUser(row) && row.user.id === userId ? withReset(parts, row, request) : row,
  );
  const reset = person?.user?.passwordReset;
  if (!hasUser(person) || !reset || reset.requestId !== requestId || reset.mailing !== mailing) return undefined;
  const to = accountEmailOf(person);
  const ref = { id: userId, serial: reset.serial };
  if (to === undefined || stateOf(ref, reset, { ...account, person }, context.now()) !== 'pending') return undefined;
  const { expiresAt } = reset;
  return { to, url: parts.urlOf(links.tokenOf(ref)), expiresAt, person, tenant: account.tenant, ...present({ clientId }) };
}

/** Returns the row with a new reset link for the request. Returns the same row if the request has a reset link already, or if the address has changed. */
function withReset({ context: { now }, lifetimeSeconds }: RecoveryParts, row: PersonWithUser, request: ResetRequest): PersonWithUser {
  const { requestId, mailing, clientId, uid, by, address } = request;
  const { passwordReset: last } = row.user;
  if (last?.requestId === requestId) return row;
  if (address !== undefined && accountEmailOf(row) !== address) return row;
  const vouchedBy = by ? request.vouchedBy : accountEmailVoucherOf(row);
  const passwordReset: PasswordReset = {
    serial: (last?.serial ?? 0) + 1,
    requestId,
    ...present({ mailing }),
    expiresAt: new Date(now() + lifetimeSeconds * 1000),
    ...present({ clientId, uid }),
    ...(vouchedBy && { vouchedBy }),
  };
  const next = { ...row, user: { ...row.user, passwordReset }, updatedAt: new Date(now()) };
  if (!by) return next;
  return withEvents(next, attributedEvent(pendingEvent(now, 'UserPasswordResetRequested', row.tid, { AggregateId: row.user.id }), by));
}

async function open({ context, accounts, means }: RecoveryParts, ref: LinkRef): Promise<OpenedReset | undefined> {
  const account = await accounts.findByOid(ref.id);
  const reset = account?.person.user.passwordReset;
  if (!account || !reset || ref.serial > reset.serial) return undefined;
  const { person, tenant } = account;
  const { clientId, uid } = reset;
  const state = stateOf(ref, reset, account, context.now());
  return {
    ref,
    state: state === 'pending' && !(await means.open(reset.vouchedBy, person)) ? 'unconfirmed' : state,
    person,
    tenant,
    ...present({ clientId, uid }),
    passwordLength: PASSWORD_MINIMUM,
  };
}

async function accept(parts: RecoveryParts, ref: LinkRef, password: string, from: readonly string[] = []): Promise<void> {
  const { credentials, change } = parts;
  const { now } = parts.context;
  const opened = await open(parts, ref);
  if (opened?.state !== 'pending') throw new IdpError('reset_over');
  const { tenant, person: judged } = opened;
  const passwordHash = await credentials.hashFor(opened.person.user, password, from);
  const isMade = await change({
    userId: ref.id,
    passwordHash,
    endsSignIns: true,
    // An administrator may control the mailbox, so the password counts only as far as the reset link and the address.
    vouchedBy: (row) => ofMailedLink(row.user.passwordReset?.vouchedBy, row),
    decide: (row) => {
      const { passwordReset } = row.user;
      if (!passwordReset || stateOf(ref, passwordReset, { person: row, tenant }, now()) !== 'pending') return undefined;
      // The user may have joined a group since, with privileges that the reset link does not cover.
      if (!isDeepStrictEqual(row.user.groupIds, judged.user.groupIds)) return undefined;
      const used = { ...row, user: { ...row.user, passwordReset: { ...passwordReset, usedAt: new Date(now()) } } };
      return withProvenEmail(used, accountEmailOf(row) ?? '', ofMailedLink(passwordReset.vouchedBy, row));
    },
  });
  if (!isMade) throw new IdpError('reset_over');
}

const stateOf = (ref: LinkRef, reset: PasswordReset, account: Account, now: number): ResetState =>
  linkState(ref, reset, canHavePassword(account), now);
