/**
 * Proofs of e-mail addresses by a mailed link: of the address in the person's record, or of another address that replaces it.
 *
 * A change ends when the sign-in that requested it is revoked, as {@link Credentials.holds} decides. The person's former address, if it was proven, gets a
 * mailed link that stops the change.
 */

import { IdpError } from '../../errors.js';
import { present } from '../../present.js';
import type { EmailProof, Person, PersonWithUser, Tenant, Voucher } from '../../store/records/records.js';
import { isSameAddress } from '../../text/compared.js';
import { isEmailAddress } from '../../text/email-address.js';
import { email } from '../../text/schemas.js';
import { type Account, type Accounts, isUsable } from '../accounts/accounts.js';
import type { Credentials, Proof } from '../accounts/credentials.js';
import type { DirectoryContext } from '../context.js';
import { isNameOf, userNameKey } from '../identifiers.js';
import { checkInput } from '../input.js';
import { type LinkRef, type LinkState, linkState, type MailedLinks } from '../mailed-links.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import { provenEmailOf, withChangedEmail, withProvenEmail } from '../persons/email-addresses.js';
import { createPersonRows } from '../persons/person-rows.js';
import { changedUser, hasUser } from '../persons/user-record.js';
import { weaker } from '../vouchers.js';
import type { DueLink } from './password-resets.js';

/**
 * `taken`: another user of the tenant has the address as a user name. `stopped`: the former address stopped the change, or the sign-in that
 * requested it was revoked.
 */
export type EmailProofState = LinkState | 'taken' | 'stopped';

export interface EmailProofRequest {
  /** Id of the request. The same request returns the same mailed link again. */
  readonly requestId: string;
  /** An address that replaces the current one. @default the current address is proven */
  readonly address?: string;
  /** Proof of the sign-in that requests the change. */
  readonly askedWith?: Proof;
  /** Voucher of the sign-in that requests the change. @default no limit */
  readonly vouchedBy?: Voucher;
  /** Id of the client whose look mail and pages have. */
  readonly clientId?: string;
}

/** A proof whose link must be mailed now. */
export interface DueEmailProof extends DueLink {
  /** The person whose user has the address as user name, so that the address cannot be proven. Absent for a free address. */
  readonly holder?: Person;
  /** The mail to the former address, with the mailed link that stops the change. Absent if no other address was proven. */
  readonly stop?: Pick<DueLink, 'to' | 'url'>;
}

/** A proof, as its page sees it. */
export interface OpenedEmailProof {
  readonly ref: LinkRef;
  /** Id of the request. */
  readonly requestId: string;
  readonly state: EmailProofState;
  readonly address: string;
  readonly person: PersonWithUser;
  readonly tenant: Tenant;
  readonly clientId?: string;
}

/** Proofs of users of all tenants. Reading changes nothing. */
export interface EmailProofs {
  /**
   * Creates a mailed link, which replaces earlier mailed links. Returns undefined for a user who cannot sign in, or has no address.
   * @throws IdpError `invalid_record` for an invalid `address`.
   */
  begin(userId: string, request: EmailProofRequest): Promise<DueEmailProof | undefined>;
  /** Returns the mailed link of a token; undefined for a token that this service did not make. */
  read(token: string): LinkRef | undefined;
  /** Returns the proof of a mailed link. Undefined if nothing of the proof is left. */
  open(ref: LinkRef): Promise<OpenedEmailProof | undefined>;
  /**
   * Writes the address to the person as a proven address. If the user name was the former address, it becomes the new address.
   * @param vouchedBy voucher of the sign-in that opened the mailed link. @default all
   * @throws IdpError `proof_over`.
   */
  accept(ref: LinkRef, vouchedBy?: Voucher): Promise<void>;
  /** Returns the mailed link that stops a change, by its token; undefined for a token that this service did not create. */
  readStop(token: string): LinkRef | undefined;
  /** Stops a pending change. Changes nothing if the change was stopped or confirmed, or has expired. */
  stop(ref: LinkRef): Promise<void>;
  /** Returns the address whose mailed link can still be opened. Undefined if the newest mailed link was used or stopped, or has expired. */
  pending(userId: string): Promise<Pick<EmailProof, 'address' | 'expiresAt'> | undefined>;
  /** Records that former addresses were notified of the change. */
  notified(userId: string, addresses: readonly string[]): Promise<void>;
}

interface Parts {
  readonly context: DirectoryContext;
  readonly accounts: Accounts;
  readonly credentials: Pick<Credentials, 'holds'>;
  readonly links: MailedLinks;
  readonly stopLinks: MailedLinks;
  readonly lifetimeSeconds: number;
  readonly urlOf: (token: string) => string;
  readonly stopUrlOf: (token: string) => string;
}

export const createEmailProofs = (parts: Parts): EmailProofs => ({
  begin: (userId, request) => begin(parts, userId, request),
  read: parts.links.read,
  open: (ref) => open(parts, ref),
  accept: (ref, vouchedBy) => accept(parts, ref, vouchedBy),
  readStop: parts.stopLinks.read,

  stop({ id: userId, serial }) {
    const { now } = parts.context;
    return changeUser(parts, userId, (row) => {
      const { emailProof: proof } = row.user;
      if (proof?.serial !== serial || proof.usedAt !== undefined || proof.stoppedAt !== undefined) return row;
      return { ...row, user: { ...row.user, emailProof: { ...proof, stoppedAt: new Date(now()) } }, updatedAt: new Date(now()) };
    });
  },

  pending: (userId) => pending(parts, userId),

  notified(userId, addresses) {
    const { now } = parts.context;
    return changeUser(parts, userId, (row) => {
      const { formerEmails = [], ...user } = row.user;
      const left = formerEmails.filter((address) => !addresses.includes(address));
      if (left.length === formerEmails.length) return row;
      return { ...row, user: { ...user, ...(left.length > 0 && { formerEmails: left }) }, updatedAt: new Date(now()) };
    });
  },
});

/** Changes the row of the user, if there is one. */
async function changeUser({ context, accounts }: Parts, userId: string, change: (row: PersonWithUser) => PersonWithUser): Promise<void> {
  const account = await accounts.findByOid(userId);
  if (!account) return;
  await context.collections.persons.update(account.person.id, (row) => (hasUser(row) && row.user.id === userId ? change(row) : row));
}

async function begin(parts: Parts, userId: string, request: EmailProofRequest): Promise<DueEmailProof | undefined> {
  const { context, accounts, credentials, links, stopLinks } = parts;
  const { requestId, address: given, askedWith, clientId } = request;
  if (given !== undefined) checkInput(email(), given);
  const account = await accounts.findByOid(userId);
  if (!account || !isUsable(account) || (askedWith && !(await credentials.holds(account, askedWith)))) return undefined;
  const person = await context.collections.persons.update(account.person.id, (row) =>
    hasUser(row) && row.user.id === userId ? withProof(parts, row, request) : row,
  );
  const proof = person?.user?.emailProof;
  if (!hasUser(person) || !proof || proof.requestId !== requestId) return undefined;
  const ref = { id: userId, serial: proof.serial };
  const state = await stateOf(parts, ref, proof, { ...account, person });
  if (state !== 'pending' && state !== 'taken') return undefined;
  const { address: to, expiresAt, former } = proof;
  const holder = state === 'taken' ? await holderOf(parts, person, to) : undefined;
  return {
    ...{ to, url: parts.urlOf(links.tokenOf(ref)), expiresAt, person, tenant: account.tenant },
    ...present({ clientId, holder }),
    ...(askedWith && former !== undefined && { stop: { to: former, url: parts.stopUrlOf(stopLinks.tokenOf(ref)) } }),
  };
}

/**
 * Returns the row with a new mailed link for the request. Returns the same row if the request has a mailed link already, or if there is no address to
 * prove.
 */
function withProof({ context: { now }, lifetimeSeconds }: Parts, row: PersonWithUser, request: EmailProofRequest): PersonWithUser {
  const { requestId, address = row.email, askedWith, vouchedBy, clientId } = request;
  const { emailProof: last } = row.user;
  if (last?.requestId === requestId || address === undefined || !isEmailAddress(address)) return row;
  const former = provenEmailOf(row);
  const emailProof: EmailProof = {
    serial: (last?.serial ?? 0) + 1,
    requestId,
    address,
    expiresAt: new Date(now() + lifetimeSeconds * 1000),
    ...present({ clientId, askedWith, vouchedBy }),
    ...(former !== undefined && former !== address && { former }),
  };
  return { ...row, user: { ...row.user, emailProof }, updatedAt: new Date(now()) };
}

async function open(parts: Parts, ref: LinkRef): Promise<(OpenedEmailProof & Pick<Account, 'owner'>) | undefined> {
  const account = await parts.accounts.findByOid(ref.id);
  const proof = account?.person.user.emailProof;
  if (!account || !proof || ref.serial > proof.serial) return undefined;
  const { person, tenant, owner } = account;
  const { address, clientId, requestId } = proof;
  const state = await stateOf(parts, ref, proof, account);
  return { ref, requestId, state, address, person, tenant, ...present({ owner, clientId }) };
}

async function pending(parts: Parts, userId: string): ReturnType<EmailProofs['pending']> {
  const account = await parts.accounts.findByOid(userId);
  const proof = account?.person.user.emailProof;
  if (!account || !proof) return undefined;
  const state = await stateOf(parts, { id: userId, serial: proof.serial }, proof, account);
  return over.has(state) ? undefined : { address: proof.address, expiresAt: proof.expiresAt };
}

const over: ReadonlySet<EmailProofState> = new Set(['used', 'expired', 'stopped']);

async function accept(parts: Parts, ref: LinkRef, vouchedBy?: Voucher): Promise<void> {
  const { context } = parts;
  const { now } = context;
  const opened = await open(parts, ref);
  if (opened?.state !== 'pending') throw new IdpError('proof_over');
  const { tenant, owner, person: judged } = opened;
  let isOurs = false;
  await createPersonRows(context, tenant.id)
    .update(judged.id, (row) => {
      const proof = row.user?.emailProof;
      const isSame = hasUser(row) && isJudged(judged, row) && proof !== undefined;
      isOurs = isSame && stateByRecord(ref, proof, { person: row, tenant, ...present({ owner }) }, now()) === 'pending';
      return isOurs ? proven(now, row as PersonWithUser, proof as EmailProof, vouchedBy) : row;
    })
    .catch((error: unknown) => {
      throw IdpError.is(error, 'user_name_taken', 'not_found') ? new IdpError('proof_over') : error;
    });
  if (!isOurs) throw new IdpError('proof_over');
}

async function stateOf(parts: Parts, ref: LinkRef, proof: EmailProof, account: Account): Promise<EmailProofState> {
  const { askedWith } = proof;
  const state = stateByRecord(ref, proof, account, parts.context.now());
  // A user who cannot sign in now may be able to later, unless the sign-in that requested the change was revoked.
  const isLive = state === 'pending' || state === 'unavailable';
  if (isLive && askedWith && !(await parts.credentials.holds(account, askedWith))) return 'stopped';
  return state === 'pending' && (await holderOf(parts, account.person, proof.address)) ? 'taken' : state;
}

/** Returns the person of another user who has the name that this user would get; undefined for a free name. */
async function holderOf({ context }: Parts, person: PersonWithUser, address: string): Promise<Person | undefined> {
  if (!isUserName(person) || isSameAddress(address, person.email)) return undefined;
  const [holder] = await context.collections.persons.find({ byUserName: [person.tid, userNameKey(address)] });
  return holder?.id === person.id ? undefined : holder;
}

/** Returns whether the person signs in by the address of the record. */
const isUserName = ({ email, user }: PersonWithUser): boolean => isNameOf(user, email);

function proven(now: () => number, row: PersonWithUser, proof: EmailProof, openedBy: Voucher = { by: 'person' }): PersonWithUser {
  const { address } = proof;
  const named = isUserName(row) && address !== row.email ? changedUser({ userName: address }) : {};
  const user = { ...row.user, ...named, emailProof: { ...proof, usedAt: new Date(now()) } };
  const vouchedBy = weaker(proof.vouchedBy, openedBy) ?? openedBy;
  const changed = withChangedEmail(now, row, { ...row, email: address, user, updatedAt: new Date(now()) }, vouchedBy) as PersonWithUser;
  const verified = withProvenEmail(changed, address, vouchedBy);
  return withEvents(verified, pendingEvent(now, 'UserEmailVerified', row.tid, { AggregateId: user.id }));
}

/** Returns the state as far as the person's document determines it. */
const stateByRecord = (ref: LinkRef, proof: EmailProof, account: Account, now: number): EmailProofState =>
  ref.serial === proof.serial && proof.stoppedAt !== undefined ? 'stopped' : linkState(ref, proof, isUsable(account), now);

/** Returns whether no write since then revokes a sign-in. In this case, the proof still holds. */
const isJudged = ({ user: judged }: PersonWithUser, { user: current }: PersonWithUser): boolean =>
  judged.notBefore?.getTime() === current.notBefore?.getTime() &&
  judged.newPassword?.serial === current.newPassword?.serial &&
  judged.parentUserId === current.parentUserId;
