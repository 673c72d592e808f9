/**
 * Addresses that are proven by a mailed link: that of the person's record, or another one that takes its place by the proof.
 */
import { IdpError } from '../../errors.js';
import type { EmailProof, PersonWithUser, Tenant } from '../../store/records/records.js';
import { type Account, type Accounts, isUsable } from '../accounts/accounts.js';
import type { DirectoryContext } from '../context.js';
import { userNameKey } from '../identifiers.js';
import { type LinkRef, type LinkState, linkState, type MailedLinks } from '../mailed-links.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import { withChangedEmail, withProvenEmail } from '../persons/email-addresses.js';
import { createPersonRows } from '../persons/person-rows.js';
import { changedUser, hasUser } from '../persons/user-record.js';
import type { DueLink } from './password-resets.js';

/** `taken`: another user of the tenant has the address as a user name. */
export type EmailProofState = LinkState | 'taken';

export interface EmailProofRequest {
  /** Names the request: the same one again answers the same link. */
  readonly requestId: string;
  /** An address that is to take the place of the one there is. @default that one is to be proven */
  readonly address?: string;
  /** Whose look mail and pages have. */
  readonly clientId?: string;
}

/** A proof, as who has its link sees it. */
export interface OpenedEmailProof {
  readonly ref: LinkRef;
  readonly state: EmailProofState;
  readonly address: string;
  readonly person: PersonWithUser;
  readonly tenant: Tenant;
  readonly clientId?: string;
}

/** Proofs of users in whatever tenant. Reading changes nothing. */
export interface EmailProofs {
  /** Makes a link, in the place of those before; undefined for a user who cannot sign in, or has no address. */
  begin(userId: string, request: EmailProofRequest): Promise<(DueLink & { readonly isTaken: boolean }) | undefined>;
  /** The link that a token is of; undefined for a token that was not made here. */
  read(token: string): LinkRef | undefined;
  /** Undefined when there is nothing of the proof any more. */
  open(ref: LinkRef): Promise<OpenedEmailProof | undefined>;
  /** The address is the person's, and proven. A user name that was the address before follows. @throws IdpError `proof_over`. */
  accept(ref: LinkRef): Promise<void>;
  /** Former addresses were told of the change. */
  told(userId: string, addresses: readonly string[]): Promise<void>;
}

interface Parts {
  readonly context: DirectoryContext;
  readonly accounts: Accounts;
  readonly links: MailedLinks;
  readonly lifetimeSeconds: number;
  readonly urlOf: (token: string) => string;
}

export function createEmailProofs({ context, accounts, links, lifetimeSeconds, urlOf }: Parts): EmailProofs {
  const { persons } = context.collections;

  /** Whether the name of the user would be another's. */
  async function isTaken(person: PersonWithUser, address: string): Promise<boolean> {
    if (!isUserName(person) || address === person.email) return false;
    const [holder] = await persons.find({ byUserName: [person.tid, userNameKey(address)] });
    return holder !== undefined && holder.id !== person.id;
  }

  async function open(ref: LinkRef): Promise<(OpenedEmailProof & Pick<Account, 'owner'>) | undefined> {
    const account = await accounts.findByOid(ref.id);
    const proof = account?.person.user.emailProof;
    if (!account || !proof || ref.serial > proof.serial) return undefined;
    const { person, tenant } = account;
    const { address, clientId } = proof;
    const state = stateOf(ref, proof, account);
    return {
      ref,
      state: state === 'pending' && (await isTaken(person, address)) ? 'taken' : state,
      address,
      person,
      tenant,
      ...(account.owner && { owner: account.owner }),
      ...(clientId === undefined ? {} : { clientId }),
    };
  }

  return {
    read: links.read,
    open,

    async begin(userId, { requestId, address: given, clientId }) {
      const account = await accounts.findByOid(userId);
      if (!account || !isUsable(account)) return undefined;
      const person = await persons.update(account.person.id, (row) => {
        const address = given ?? row.email;
        if (!hasUser(row) || row.user.id !== userId || row.user.emailProof?.requestId === requestId || address === undefined) return row;
        const emailProof: EmailProof = {
          serial: (row.user.emailProof?.serial ?? 0) + 1,
          requestId,
          address,
          expiresAt: new Date(Date.now() + lifetimeSeconds * 1000),
          ...(clientId === undefined ? {} : { clientId }),
        };
        return { ...row, user: { ...row.user, emailProof }, updatedAt: new Date() };
      });
      const proof = person?.user?.emailProof;
      if (!hasUser(person) || !proof || proof.requestId !== requestId) return undefined;
      const ref = { id: userId, serial: proof.serial };
      if (stateOf(ref, proof, { ...account, person }) !== 'pending') return undefined;
      const { address: to, expiresAt } = proof;
      const { tenant } = account;
      const look = clientId === undefined ? {} : { clientId };
      return { to, url: urlOf(links.tokenOf(ref)), expiresAt, person, tenant, isTaken: await isTaken(person, to), ...look };
    },

    async accept(ref) {
      const opened = await open(ref);
      if (opened?.state !== 'pending') throw new IdpError('proof_over');
      const { tenant, owner } = opened;
      let isOurs = false;
      await createPersonRows(context, tenant.id)
        .update(opened.person.id, (row) => {
          const proof = row.user?.emailProof;
          isOurs =
            hasUser(row) && proof !== undefined && stateOf(ref, proof, { person: row, tenant, ...(owner && { owner }) }) === 'pending';
          return isOurs ? proven(row as PersonWithUser, proof as EmailProof) : row;
        })
        .catch((error: unknown) => {
          throw IdpError.is(error, 'user_name_taken', 'not_found') ? new IdpError('proof_over') : error;
        });
      if (!isOurs) throw new IdpError('proof_over');
    },

    async told(userId, addresses) {
      const account = await accounts.findByOid(userId);
      if (!account) return;
      await persons.update(account.person.id, (row) => {
        const { formerEmails = [], ...user } = row.user ?? ({} as PersonWithUser['user']);
        const left = formerEmails.filter((address) => !addresses.includes(address));
        if (user.id !== userId || left.length === formerEmails.length) return row;
        return { ...row, user: { ...user, ...(left.length > 0 && { formerEmails: left }) }, updatedAt: new Date() };
      });
    },
  };
}

/** Whether people sign in by the address of the record. */
const isUserName = ({ email, user }: PersonWithUser): boolean => email !== undefined && userNameKey(email) === user.userNameKey;

function proven(row: PersonWithUser, proof: EmailProof): PersonWithUser {
  const { address } = proof;
  const named = isUserName(row) && address !== row.email ? changedUser({ userName: address }) : {};
  const user = { ...row.user, ...named, emailProof: { ...proof, usedAt: new Date() } };
  const changed = withChangedEmail(row, { ...row, email: address, user, updatedAt: new Date() }) as PersonWithUser;
  const verified = withProvenEmail(changed, address);
  return withEvents(verified, pendingEvent('UserEmailVerified', row.tid, { AggregateId: user.id }));
}

const stateOf = (ref: LinkRef, proof: EmailProof, account: Account): LinkState => linkState(ref, proof, isUsable(account));
