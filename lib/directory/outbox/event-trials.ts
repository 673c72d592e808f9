import type { EventName, IdpEvent } from '../../events.js';
import type { Logger } from '../../logger.js';
import { present } from '../../present.js';
import type { Collection } from '../../store/directory-store.js';
import type { EventRecord } from '../../store/records/records.js';
import { nodeTime } from '../../times/node-time.js';
import { withTimeLimit } from '../../times/time-limit.js';
import type { Listeners, Listening } from './event-listeners.js';

/** Attempts to hand events to listeners. A listener is called until it has accepted the event, or the event is parked. */
export interface EventTrials {
  /** Calls the listeners that have not accepted the event yet, unless the next attempt is not due. @returns true if no listener is left. */
  attempt(event: EventRecord): Promise<boolean>;
  /** Returns the time of the next attempt, in milliseconds since the epoch; 0 before the first attempt. */
  dueAt(eventId: string): number;
  /** Forgets the event, because all listeners have accepted it. */
  forget(eventId: string): void;
  problems(): readonly { readonly code: 'event_parked'; readonly collection: 'events'; readonly id: string }[];
}

/** Milliseconds after which a running listener counts as failed. */
const LISTENER_TIMEOUT_MS = 30_000;
/** Milliseconds before the second attempt, the third … */
const BACK_OFF_MS = [1_000, 5_000, 25_000, 125_000];
/** Maximum number of remembered parked events. */
const REMEMBERED = 1_000;

export interface EventTrialsOptions {
  readonly records: Collection<EventRecord>;
  readonly listeners: Listeners;
  readonly issuer: string;
  readonly logger: Logger;
  /** Returns the time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
  /** @default 1, 5, 25 and 125 seconds */
  readonly backOff?: readonly number[];
}

interface Trial {
  /** Listeners that have not accepted the event. */
  readonly left: readonly Listening[];
  readonly attempts: number;
  readonly dueAt: number;
}

export function createEventTrials({ records, listeners, issuer, logger, now, backOff = BACK_OFF_MS }: EventTrialsOptions): EventTrials {
  const trials = new Map<string, Trial>();
  const parked = new Set<string>();

  async function park({ id, eventId, type, subject }: EventRecord): Promise<void> {
    await records.update(id, (row) => ({ ...row, parkedAt: new Date(now()) }));
    if (parked.size < REMEMBERED) parked.add(id);
    logger.error({ event: eventId, type, subject }, 'the service parked an event, because a listener failed too often');
  }

  return {
    async attempt(record) {
      const { id, eventId, type, subject } = record;
      const { left, attempts, dueAt } = trials.get(id) ?? { left: listeners.of(type), attempts: 0, dueAt: 0 };
      if (left.length === 0) return true;
      if (dueAt > nodeTime()) return false;
      const event = toEvent(record, issuer);
      const failed = (await Promise.all(left.map(async (listener) => ((await isTaken(listener, event)) ? [] : [listener])))).flat();
      const wait = backOff[attempts];
      if (failed.length > 0 && wait === undefined) await park(record);
      const isOver = failed.length === 0 || wait === undefined;
      trials.set(id, { left: isOver ? [] : failed, attempts: attempts + 1, dueAt: isOver ? 0 : nodeTime() + wait });
      return isOver;

      async function isTaken(listener: Listening, given: IdpEvent): Promise<boolean> {
        try {
          const taking = listener(given);
          if (taking !== undefined) await withTimeLimit(LISTENER_TIMEOUT_MS, () => taking);
          return true;
        } catch (err) {
          logger.error({ err, event: eventId, type, subject, attempt: attempts + 1 }, 'a listener failed');
          return false;
        }
      }
    },

    dueAt: (id) => trials.get(id)?.dueAt ?? 0,
    forget: (id) => void trials.delete(id),
    problems: () => [...parked].map((id) => ({ code: 'event_parked', collection: 'events', id })),
  };
}

/** @see CloudEvents 1.0 §3 */
export const toEvent = (record: EventRecord, source: string): IdpEvent => {
  const { id: sequence, eventId: id, type, time, subject, tid, actor, act, requestId, data } = record;
  return {
    specversion: '1.0',
    id,
    source,
    type: type as EventName,
    time: time.toISOString(),
    subject,
    ...present({ tid, actor, act, requestid: requestId }),
    sequence,
    data: data as unknown as IdpEvent['data'],
  };
};
