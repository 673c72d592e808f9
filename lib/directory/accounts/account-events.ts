import { v5 } from 'uuid';
import type { EventMap } from '../../events.js';
import type { DirectoryContext } from '../context.js';
import { pendingEvent, withEvents } from '../outbox/pending-events.js';
import type { Account } from './accounts.js';

/** What the protocol saw happen to an account: kept in the person's document until it is dispatched, like what the directory does itself. */
export interface AccountEvents {
  /**
   * @param cause names what happened: told again, by any node, it stays one event.
   */
  raise<Name extends keyof EventMap>(type: Name, account: Account, data: EventMap[Name], cause: string): Promise<void>;
}

export function createAccountEvents({ collections: { persons, events }, nudge }: DirectoryContext, issuer: string): AccountEvents {
  const namespace = v5(issuer, v5.URL);
  return {
    async raise(type, { person }, data, cause) {
      const id = v5(JSON.stringify(['event', type, cause]), namespace);
      if (await events.get(id)) return;
      await persons.update(person.id, (row) => {
        if (row.user?.id !== person.user.id || row.pendingEvents.some((event) => event.id === id)) return row;
        return withEvents(row, { ...pendingEvent(type, row.tid, data), id });
      });
      nudge();
    },
  };
}
