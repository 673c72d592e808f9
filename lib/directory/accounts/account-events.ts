import { v5 } from 'uuid';
import { IdpError } from '../../errors.js';
import type { Attribution, EventMap } from '../../events.js';
import type { AccountEventsRow, PendingEvent } from '../../store/records/records.js';
import type { DirectoryContext } from '../context.js';
import { newId } from '../identifiers.js';
import { attributedEvent, checkAttribution } from '../outbox/attribution.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import type { Account } from './accounts.js';

/**
 * Raises events of an account that change no record of the directory. The events wait in a collection of their own until they are dispatched. The events
 * that one account raises here stay in their order. Events of the person's changes are in the person's document, and may be dispatched before or after them.
 */
export interface AccountEvents {
  /**
   * @param cause names the occurrence. A second call with the same cause, on any node, adds no event. Without a cause, each call is a separate
   * occurrence.
   * @param by the actor of the change
   * @throws IdpError `invalid_record` for an attribution that no event can carry.
   */
  raise<Name extends keyof EventMap>(type: Name, account: Account, data: EventMap[Name], cause?: string, by?: Attribution): Promise<void>;
}

export function createAccountEvents({ collections: { accountEvents, events }, now }: DirectoryContext, issuer: string): AccountEvents {
  const namespace = v5(issuer, v5.URL);
  return {
    async raise(type, { person }, data, cause, by = {}) {
      checkAttribution(by);
      const id = cause === undefined ? newId() : v5(JSON.stringify(['event', type, cause]), namespace);
      if (cause !== undefined && (await events.has({ byEvent: [id] }))) return;
      const event = attributedEvent({ ...pendingEvent(now, type, person.tid, data), id }, by);
      const fresh = rowOf(person.user.id, event);
      // Most accounts have no event that waits. Then one insert is all.
      if (await accountEvents.insert(fresh).catch(IdpError.unless('conflict'))) return;
      await accountEvents.upsert(fresh.id, (row) => {
        if (row === undefined) return fresh;
        return row.pendingEvents.some((waiting) => waiting.id === id) ? row : withEvents(row, event);
      });
    },
  };
}

/** The id differs from the ids of other collections, because the dispatcher works on one row of an id at a time. */
const rowOf = (userId: string, event: PendingEvent): Omit<AccountEventsRow, 'version'> => ({
  id: `user:${userId}`,
  tid: '',
  pendingEvents: [event],
  outbox: 'yes',
});
