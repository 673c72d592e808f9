/** Age of messages: how long a message is accepted, and how long its ID is stored. */

import { RefusedMessage } from '../messages/refused.js';
import type { ReadMessage } from '../reading/message.js';

/** Seconds that a message may travel. The user waits for a page during that time. */
const MAX_AGE_SECONDS = 300;
/** Seconds that the clock of a service provider may be off, at most. */
export const MAX_CLOCK_SKEW_SECONDS = 600;
/** Seconds that the clocks of the nodes, and of the store, may differ by. */
const NODE_SKEW_SECONDS = 240;

/**
 * Returns the seconds after which every message that is accepted now is refused. A clock that is ahead issues messages in the future, which are accepted
 * longer.
 */
export const acceptanceSeconds = (clockSkewSeconds: number): number => MAX_AGE_SECONDS + 2 * clockSkewSeconds + NODE_SKEW_SECONDS;

/** Returns the seconds that any node would still accept the message. */
export const secondsLeft = (issuedAt: number, now: number, clockSkewSeconds: number): number =>
  Math.ceil((issuedAt - now) / 1000) + MAX_AGE_SECONDS + clockSkewSeconds + NODE_SKEW_SECONDS;

/** Refuses a message that is too old, from the future, or expired. @param now milliseconds since the epoch @throws RefusedMessage */
export function checkTimes({ message: { issuedAt }, notOnOrAfter }: ReadMessage, now: number, clockSkewSeconds: number): void {
  const skew = clockSkewSeconds * 1000;
  const earliest = now - skew - MAX_AGE_SECONDS * 1000;
  if (issuedAt > now + skew || issuedAt < earliest)
    throw new RefusedMessage('issue_instant', {
      place: 'IssueInstant',
      mismatch: { received: timeOf(issuedAt), expected: `${timeOf(earliest)} to ${timeOf(now + skew)}` },
    });
  if (notOnOrAfter !== undefined && now >= notOnOrAfter + skew)
    throw new RefusedMessage('expired', {
      place: 'NotOnOrAfter',
      mismatch: { received: timeOf(notOnOrAfter), expected: `after ${timeOf(now - skew)}` },
    });
}

/** Returns an instant for the log. A message may have an instant that no `Date` can represent. */
const timeOf = (instant: number): string => (Math.abs(instant) <= 8.64e15 ? new Date(instant).toISOString() : String(instant));
