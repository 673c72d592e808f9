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

/** Kind of the delivery that completes a change of an invitation after a crash, and sends its mail. */
const KIND = 'invitation';

/** A delivery for an invitation. The queue holds ids alone. */
export interface InvitationDelivery {
  readonly id: string;
  /** Whether the delivery was enqueued before the row of the invitation, and before the document of a person who is created with it. */
  readonly isNew?: true;
  /** Serial of the invitation link to send. */
  readonly serial?: number;
  /**
   * Name of the delivery. Only the delivery that the person's document names sends the invitation link, because a retried request enqueues
   * another delivery for the same invitation link.
   */
  readonly mailing?: string;
  /** Id of the password that an acceptance offers. */
  readonly credentialId?: string;
  /** Actor who has the invitation link sent. */
  readonly by?: Attribution;
}

/** An invitation whose invitation link must be sent now. */
export interface DueInvitation {
  readonly invitation: Invitation;
  readonly person: Person;
  readonly url: string;
}

/** Registers the sender of invitations. The sender rejects if the mail was not accepted. */
export type OnInvitationDue = (send: (due: DueInvitation) => Promise<void>) => void;

/** An enqueued delivery, with its name. */
export interface EnqueuedInvitation extends Enqueued {
  readonly mailing: string;
}

/** Updates the row of an invitation from the person's document, and sends its mail. */
export interface InvitationDeliveries {
  /** Enqueues a delivery before the write that it completes, so that a crash leaves no change unfinished. */
  enqueue(work: Omit<InvitationDelivery, 'mailing'>): Promise<EnqueuedInvitation>;
  /** Updates the row from its person's document, and returns it. */
  updateRow(id: string): Promise<Invitation | undefined>;
  readonly onDue: OnInvitationDue;
}

interface Parts {
  readonly context: DirectoryContext;
  readonly deliveries: Pick<Deliveries, 'enqueue' | 'handle'>;
  readonly credentials: Pick<Credentials, 'takeOffer' | 'forget'>;
  readonly links: MailedLinks;
  /** Returns the URL of an invitation link's page. */
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
      // An acceptance takes no longer than `PATIENCE_MS`: see `acceptance`.
      if (isEarly && user?.invitation?.id === id) throw new Error('the acceptance is under way');
      await credentials.forget(credentialId);
    }
    if (!person) {
      // The announced write may still come. A password may come too, and must then be removed.
      if (isEarly && (isNew || credentialId !== undefined)) throw new Error('the person is not there yet');
      // The delivery is not early, so the person existed when the delivery was enqueued. The erasure removes the row too.
      if (invitation && !isEarly) await invitations.remove(id);
      return;
    }
    const open = user?.invitation;
    if (serial === undefined || open?.id !== id || open.serial !== serial || open.mailing !== mailing) return;
    if (isExpired(open, now())) return;
    await send({ invitation, person, url: urlOf(links.tokenOf({ id, serial })) });
    const rows = createPersonRows(onBehalf(context, invitation), person.tid);
    const sent = attributedEvent(pendingEvent(now, 'InvitationSent', person.tid, { AggregateId: id, UserId: invitation.userId }), by);
    // A person who was erased, or who accepted, after the delivery began got the mail nevertheless.
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

/** Returns the row as the person's document has it; the same row, which writes nothing, if nothing differs. */
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
