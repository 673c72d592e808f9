/**
 * Guessing codes is slow: attempts are counted before anything is looked at, so that attempts at the same time count too, by the challenge and by the
 * account on all nodes. Three of a million codes are live at a time: at 30 guesses a day, an even chance takes twenty years.
 */
import { type ExtensionContext, minutesUntil } from '../../lib/extension-door.js';

const MINUTE_MS = 60_000;
/** Codes that one sign-in may try. */
const PER_CHALLENGE = { limit: 5, windowMs: 60 * MINUTE_MS };
/** Codes that all sign-ins of an account may try. */
const PER_ACCOUNT = [
  { limit: 10, windowMs: 15 * MINUTE_MS },
  { limit: 30, windowMs: 24 * 60 * MINUTE_MS },
];

/** An attempt that is within the limits, or what it is beyond. */
export type Attempt = { readonly succeeded: () => Promise<void> } | { readonly isOver: 'challenge' } | { readonly minutes: number };

export const createGuesses = ({ attempts }: Pick<ExtensionContext, 'attempts'>) => ({
  /** Counts an attempt. @param challenge names the sign-in, @param owner the user whose factors they are. */
  async begin(challenge: string, owner: string): Promise<Attempt> {
    const counted: (() => Promise<unknown>)[] = [];
    const count = async (name: readonly string[], windowMs: number) => {
      const counter = JSON.stringify(name);
      const { count: reached, resetsAt } = await attempts(counter, windowMs);
      counted.push(() => attempts(counter, windowMs, -1));
      return { reached, resetsAt };
    };
    const ofChallenge = await count(['factors challenge', challenge], PER_CHALLENGE.windowMs);
    if (ofChallenge.reached > PER_CHALLENGE.limit) return { isOver: 'challenge' };
    for (const { limit, windowMs } of PER_ACCOUNT) {
      const { reached, resetsAt } = await count(['factors account', String(windowMs), owner], windowMs);
      if (reached > limit) return { minutes: minutesUntil(resetsAt) };
    }
    return { succeeded: async () => void (await Promise.all(counted.map((giveBack) => giveBack()))) };
  },
});
