import { IdpError } from '../../errors.js';
import type { CheckedCollection } from '../../store/records/checked-directory.js';
import type { EventRecord, PendingEvent } from '../../store/records/records.js';

/**
 * The one order of all events. An event is recorded under the number after the last, as its id. If two writers use the same number, one
 * writer loses and retries. So a number exists only after every lower number, and no number is left out.
 */
export interface EventLog {
  /**
   * Returns the record of the event. A recorded event keeps its number.
   * @throws IdpError `record_unreadable` when that record is damaged.
   */
  record(event: PendingEvent): Promise<EventRecord>;
  /** Returns the highest number. Every event up to this number can be read. 0 if there is no event. */
  head(): Promise<number>;
}

const DIGITS = 16;

/** Returns a number as a text of fixed length, so that texts sort like numbers. */
export const sequenceOf = (number: number): string => String(number).padStart(DIGITS, '0');

export const isSequence = (value: unknown): value is string => typeof value === 'string' && /^\d{16}$/.test(value);

export function createEventLog(records: CheckedCollection<EventRecord>, now: () => number): EventLog {
  /** The highest number seen so far. */
  let last = 0;
  const isTaken = (number: number) => records.has(sequenceOf(number));

  async function head(): Promise<number> {
    let number = last;
    for (;;) {
      const [next] = await records.find({}, { limit: 1, after: sequenceOf(number) });
      if (next) number = Number(next.id);
      // An unreadable record uses its number too.
      else if (await isTaken(number + 1)) number += 1;
      else break;
      for (let step = 1; await isTaken(number + step); step *= 2) number += step;
    }
    last = Math.max(last, number);
    return number;
  }

  return {
    head,
    async record({ id: eventId, ...event }) {
      for (;;) {
        if (last === 0) await head();
        const number = last + 1;
        const row = { ...event, id: sequenceOf(number), eventId, recordedAt: new Date(now()) };
        const made = await records.insert(row).catch(IdpError.unless('conflict'));
        if (made) {
          last = Math.max(last, number);
          return made;
        }
        // `has` comes first, because another node may record the event between the two calls. A record that exists and is then not found is
        // unreadable.
        if (await records.has({ byEvent: [eventId] })) {
          const [known] = await records.find({ byEvent: [eventId] });
          if (known) return known;
          throw new IdpError('record_unreadable', { collection: 'events', id: eventId });
        }
        await head();
      }
    },
  };
}
