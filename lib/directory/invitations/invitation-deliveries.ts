import { IdpError } from '../../errors.js';
import type { Attribution } from '../../events.js';
import type { Delivery, Invitation, Person } from '../../store/records/records.js';
import type { Credentials } from '../accounts/credentials.js';
import { PATIENCE_MS } from '../accounts/password-changes.js';
import type { DirectoryContext } from '../context.js';
import { newId } from '../identifiers.js';
import type { MailedLinks } from '../mailed-links.js';
import { attributedEvent } from '../outbox/attribution.js';
import type { Deliveries, Enqueued } from '../outbox/deliveries.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import { createPersonRows } from '../persons/person-rows.js';
import { isExpired } from './invitation-state.js';
import { onBehalf } from './metadata.js';

/** The kind of delivery that goes on where a node left an invitation off, and has its mail sent. */
const KIND = 'invitation';

/** What is to be done about an invitation. The queue holds ids alone. */
export interface InvitationDelivery {
  readonly id: string;
  /** Announced before its row, and before the document of a person who is made with it. */
  readonly isNew?: true;
  /** The link to send. */
  readonly serial?: number;
  /** Names the work. The link is sent by the work that the person's document names, because a request that is run again enqueues other work for the link. */
  readonly mailing?: string;
  /** The offer of an acceptance. */
  readonly credentialId?: string;
  /** Who has the link sent. */
  readonly by?: Attribution;
}

/** An invitation whose link is to be sent now. */
export interface DueInvitation {
  readonly invitation: Invitation;
  readonly person: Person;
  readonly url: string;
}

/** Registers the sender of invitations; it rejects when the mail was not taken. */
export type OnInvitationDue = (send: (due: DueInvitation) => Promise<void>) => void;

/** Work that is enqueued, with its name. */
export interface EnqueuedInvitation extends Enqueued {
  readonly mailing: string;
}

/** Brings what is kept beside the person's document in line with it. */
export interface InvitationDeliveries {
  /** Enqueues the work before the write that it is about, so that a crash leaves nothing half done. */
  enqueue(work: Omit<InvitationDelivery, 'mailing'>): Promise<EnqueuedInvitation>;
  /** The invitation as its person's document says by now. */
  updateRow(id: string): Promise<Invitation | undefined>;
  readonly onDue: OnInvitationDue;
}

interface Parts {
  readonly context: DirectoryContext;
  readonly deliveries: Pick<Deliveries, 'enqueue' | 'handle'>;
  readonly credentials: Pick<Credentials, 'takeOffer' | 'forget'>;
  readonly links: MailedLinks;
  /** The page of a link. */
  readonly urlOf: (token: string) => string;
}

export function createInvitationDeliveries({ context, deliveries, credentials, links, urlOf }: Parts): InvitationDeliveries {
  const { now } = context;
  const { invitations, persons } = context.collections;

  async function personOf({ tid, personId }: Invitation): Promise<Person | undefined> {
    const person = await persons.get(personId);
    return person?.tid === tid ? person : undefined;
  }

  async function updateRow(id: string): Promise<Invitation | undefined> {
    const invitation = await invitations.get(id);
    const person = invitation && (await personOf(invitation));
    if (!person) return invitation;
    if (person.user?.accepted?.id === id) {
      const { at, credentialId } = person.user.accepted;
      if (credentialId !== undefined) await credentials.takeOffer(credentialId, person.user.id, at);
    }
    return invitations.update(id, (row) => rowOfPerson(row, person, now));
  }

  async function deliver(delivery: Delivery, send: (due: DueInvitation) => Promise<void>): Promise<void> {
    const { id, isNew = false, serial, mailing, credentialId, by = {} } = delivery.data as unknown as InvitationDelivery;
    const isEarly = now() - delivery.createdAt.getTime() < PATIENCE_MS;
    const invitation = await updateRow(id);
    const person = invitation && (await personOf(invitation));
    const { user } = person ?? {};
    if (credentialId !== undefined && user?.accepted?.credentialId !== credentialId) {
      // An acceptance takes no longer than that: see `acceptance`.
      if (isEarly && user?.invitation?.id === id) throw new Error('the acceptance is under way');
      await credentials.forget(credentialId);
    }
    if (!person) {
      // The announced write may come yet. So may a password, which then has to be forgotten.
      if (isEarly && (isNew || credentialId !== undefined)) throw new Error('the person is not there yet');
      // Else the person was there when it was announced. The erasure takes the row along.
      if (invitation && !isEarly) await invitations.remove(id);
      return;
    }
    const open = user?.invitation;
    if (serial === undefined || open?.id !== id || open.serial !== serial || open.mailing !== mailing) return;
    if (isExpired(open, now())) return;
    await send({ invitation, person, url: urlOf(links.tokenOf({ id, serial })) });
    const rows = createPersonRows(onBehalf(context, invitation), person.tid);
    const sent = attributedEvent(pendingEvent(now, 'InvitationSent', person.tid, { AggregateId: id, UserId: invitation.userId }), by);
    // Who was erased or accepted it meanwhile has it all the same.
    await rows.update(person.id, (row) => withEvents({ ...row, updatedAt: new Date(now()) }, sent)).catch(IdpError.unless('not_found'));
  }

  return {
    updateRow,
    async enqueue(data) {
      const mailing = newId();
      return { ...(await deliveries.enqueue([{ kind: KIND, data: { ...data, mailing } }])), mailing };
    },
    onDue: (send) => deliveries.handle(KIND, (delivery) => deliver(delivery, send)),
  };
}

/** The row as the person's document says. The same row, which writes nothing, where it does already. */
function rowOfPerson(row: Invitation, { user }: Person, now: () => number): Invitation {
  const { invitation, accepted } = user ?? {};
  const next: Invitation =
    accepted?.id === row.id
      ? { ...row, status: 'accepted', acceptedAt: accepted.at }
      : invitation?.id === row.id
        ? { ...row, status: 'pending', expiresAt: invitation.expiresAt, send: invitation.send }
        : { ...row, status: 'revoked' };
  const isSame =
    next.status === row.status &&
    next.send === row.send &&
    next.expiresAt.getTime() === row.expiresAt.getTime() &&
    next.acceptedAt?.getTime() === row.acceptedAt?.getTime();
  return isSame ? row : { ...next, updatedAt: new Date(now()) };
}
