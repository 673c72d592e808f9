import { v5 } from 'uuid';
import type { Attribution, EventMap } from '../../events.js';
import type { DirectoryContext } from '../context.js';
import { newId } from '../identifiers.js';
import { attributedEvent, checkAttribution } from '../outbox/attribution.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import type { Account } from './accounts.js';

/**
 * Raises events of an account for the protocol. The person's document holds them until they are dispatched, like the directory's own
 * events.
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

export function createAccountEvents({ collections: { persons, events }, now }: DirectoryContext, issuer: string): AccountEvents {
  const namespace = v5(issuer, v5.URL);
  return {
    async raise(type, { person }, data, cause, by = {}) {
      checkAttribution(by);
      const id = cause === undefined ? newId() : v5(JSON.stringify(['event', type, cause]), namespace);
      if (cause !== undefined && (await events.has({ byEvent: [id] }))) return;
      await persons.update(person.id, (row) => {
        if (row.user?.id !== person.user.id || row.pendingEvents.some((event) => event.id === id)) return row;
        return withEvents(row, attributedEvent({ ...pendingEvent(now, type, row.tid, data), id }, by));
      });
    },
  };
}
