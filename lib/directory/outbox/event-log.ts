import { IdpError } from '../../errors.js';
import type { CheckedCollection } from '../../store/records/checked-directory.js';
import type { EventRecord, PendingEvent } from '../../store/records/records.js';

/**
 * The one order of all events. An event is recorded under the number after the last, as its id: of two writers with the same number one loses and looks
 * again. So a number is there only after every lower one, whoever writes and however late, and no number is left out.
 */
export interface EventLog {
  /** The record of the event: an event that is recorded already keeps its number. @throws IdpError `record_unreadable` when that record is damaged. */
  record(event: PendingEvent): Promise<EventRecord>;
  /** The highest number: every event up to it can be read. 0 when there is none. */
  head(): Promise<number>;
}

const DIGITS = 16;

/** Numbers of one length, so that texts sort as numbers do. */
export const sequenceOf = (number: number): string => String(number).padStart(DIGITS, '0');

export const isSequence = (value: unknown): value is string => typeof value === 'string' && /^\d{16}$/.test(value);

export function createEventLog(records: CheckedCollection<EventRecord>, now: () => number): EventLog {
  /** The highest number that was seen. */
  let last = 0;
  const isTaken = (number: number) => records.has(sequenceOf(number));

  async function head(): Promise<number> {
    let number = last;
    for (;;) {
      const [next] = await records.find({}, { limit: 1, after: sequenceOf(number) });
      if (next) number = Number(next.id);
      // A record that cannot be read has its number all the same.
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
        // Asked first, because another node may record the event between the two: what is there and then not found cannot be read.
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
