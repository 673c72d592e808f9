import type { IdpEvent } from '../../events.js';
import type { Collection } from '../../store/directory-store.js';
import type { EventRecord, SequenceRecord } from '../../store/records.js';
import { toEvent } from './event-trials.js';

/** All events in their order, for who reads at their own pace. */
export interface EventFeed {
  /**
   * Events after a number, in order: the `sequence` of the last is what to go on with. Numbers can be missing between two; none comes later than a higher
   * one.
   * @param limit 1 to 1000. @default 100
   */
  read(after: number, limit?: number): Promise<readonly IdpEvent[]>;
}

/** Events of one bucket are read together: an index knows equal values alone. */
const BUCKET = 100;
const MOST = 1000;
/** Empty buckets in a row that are no accident. */
const GAP = 20;

export const bucketOf = (sequence: number): string => String(Math.floor(sequence / BUCKET));

export function createEventFeed(
  { events, sequences }: { readonly events: Collection<EventRecord>; readonly sequences: Collection<SequenceRecord> },
  issuer: string,
): EventFeed {
  return {
    async read(after, limit = 100) {
      if (!Number.isSafeInteger(after) || after < 0) throw new RangeError('a feed is read after a number of an event, or 0');
      if (!Number.isInteger(limit) || limit < 1 || limit > MOST) throw new RangeError(`a feed is read by 1 to ${MOST} events`);
      const { last = 0 } = (await sequences.get('events')) ?? {};
      const found: EventRecord[] = [];
      let empty = 0;
      for (let first = after + 1; first <= last && found.length < limit; first = (Math.floor(first / BUCKET) + 1) * BUCKET) {
        const bucket = await events.find({ byBucket: [bucketOf(first)] });
        empty = bucket.length > 0 ? 0 : empty + 1;
        if (empty === GAP) {
          found.push(...(await allAfter(first)));
          break;
        }
        found.push(...bucket.filter(({ sequence }) => sequence > after).sort(inOrder));
      }
      return found.slice(0, limit).map((record) => toEvent(record, issuer));
    },
  };

  /** Looks at every event: numbers leapt, since the last one could not be read, or old events were removed. */
  async function allAfter(number: number): Promise<readonly EventRecord[]> {
    const found: EventRecord[] = [];
    for (let after: string | undefined; ; ) {
      const page = await events.find({}, { limit: MOST, ...(after === undefined ? {} : { after }) });
      found.push(...page.filter(({ sequence, bucket }) => bucket !== undefined && sequence > number));
      if (page.length < MOST) return found.sort(inOrder);
      after = page.at(-1)?.id;
    }
  }
}

const inOrder = (one: EventRecord, other: EventRecord): number => one.sequence - other.sequence;
