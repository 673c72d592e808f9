/**
 * Guessing codes is slow: attempts are counted before anything is looked at, so that attempts at the same time count too, by the challenge and by the
 * account on all nodes. Three of a million codes are live at a time: at 30 guesses a day, an even chance takes twenty years. Recovery codes have 60 bits and
 * counts of their own: a stranger who uses up the codes of the app leaves the owner a way in, and no lock of theirs lasts longer than 15 minutes.
 */
import { type Account, type ExtensionContext, minutesUntil } from '../../lib/extension-door.js';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Codes that one sign-in may try. */
const PER_CHALLENGE = { limit: 5, windowMs: 60 * MINUTE_MS };
/** Codes of each kind that all sign-ins of an account may try. */
const PER_ACCOUNT = {
  code: [
    { limit: 10, windowMs: 15 * MINUTE_MS },
    { limit: 30, windowMs: DAY_MS },
  ],
  recovery: [{ limit: 10, windowMs: 15 * MINUTE_MS }],
} as const;
/** How often a day a limit that is reached is raised as an event: once, and again for a node that ended before it did. */
const RAISED = 3;

export type CodeKind = keyof typeof PER_ACCOUNT;

/** An attempt that is within the limits, or what it is beyond. */
export type Attempt =
  | {
      /** Takes the attempt back. */
      readonly succeeded: () => Promise<void>;
      /** Raises the event if the attempt was the last for a while. */
      readonly failed: () => Promise<void>;
    }
  | { readonly isOver: 'challenge' }
  | { readonly minutes: number };

export function createGuesses({ attempts, emit }: Pick<ExtensionContext, 'attempts' | 'emit'>) {
  /** Tells that many codes were wrong, once a day. */
  async function raise(owner: Account): Promise<void> {
    const { id } = owner.person.user;
    const { count, resetsAt } = await attempts(JSON.stringify(['factors guessed', id]), DAY_MS);
    if (count <= RAISED) await emit('FactorCodesGuessed', owner, { AggregateId: id }, `codes guessed ${resetsAt.toISOString()}`);
  }

  return {
    /** Counts an attempt. @param challenge names the sign-in, @param owner the user whose factors they are. */
    async begin(challenge: string, owner: Account, kind: CodeKind): Promise<Attempt> {
      const counted: (() => Promise<unknown>)[] = [];
      const count = async (name: readonly string[], windowMs: number) => {
        const counter = JSON.stringify(name);
        const { count: reached, resetsAt } = await attempts(counter, windowMs);
        counted.push(() => attempts(counter, windowMs, -1));
        return { reached, resetsAt };
      };
      const ofChallenge = await count(['factors challenge', challenge], PER_CHALLENGE.windowMs);
      if (ofChallenge.reached > PER_CHALLENGE.limit) return { isOver: 'challenge' };
      let isLast = false;
      for (const { limit, windowMs } of PER_ACCOUNT[kind]) {
        const { reached, resetsAt } = await count(['factors account', kind, String(windowMs), owner.person.user.id], windowMs);
        if (reached > limit) return { minutes: minutesUntil(resetsAt) };
        isLast ||= reached === limit;
      }
      return {
        succeeded: async () => void (await Promise.all(counted.map((giveBack) => giveBack()))),
        failed: async () => void (isLast && (await raise(owner))),
      };
    },
  };
}
