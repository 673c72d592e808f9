/**
 * Limits for guesses of codes. Attempts are counted before codes are checked, by the challenge and by the account on all nodes, so that concurrent attempts count.
 *
 * Three of a million codes of the app are valid at a time. At 30 guesses a day, an even chance takes twenty years. Recovery codes have 60 bits and
 * limits of their own, so that a stranger who uses up the codes of the app does not lock the owner out.
 */
import { type Account, DAY_MS, type ExtensionContext, MINUTE_MS, minutesUntil } from '../../lib/extension-door.js';

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
/** Attempts in a day to raise the event of a reached limit: more than one, because a node may end before it raised the event. */
const RAISED = 3;

export type CodeKind = keyof typeof PER_ACCOUNT;

/** An attempt within the limits, or the limit that it exceeds. */
export type Attempt =
  | {
      /** Checks the code. An attempt whose check throws does not count, because the store was unavailable. */
      readonly check: <Outcome>(check: () => Promise<Outcome>) => Promise<Outcome>;
      /** Takes the attempt back. */
      readonly succeeded: () => Promise<void>;
      /** Raises the event if the attempt reached a limit. */
      readonly failed: () => Promise<void>;
    }
  | { readonly isOver: 'challenge' }
  | { readonly minutes: number };

export function createGuesses({
  limits: { attempts },
  work: { emit },
  service: { now },
}: Pick<ExtensionContext, 'limits' | 'work' | 'service'>) {
  /** Raises `FactorCodesGuessed`, once a day. */
  async function raise(owner: Account): Promise<void> {
    const { id } = owner.person.user;
    const { count, resetsAt } = await attempts(JSON.stringify(['factors guessed', id]), DAY_MS);
    if (count <= RAISED) await emit('FactorCodesGuessed', owner, { AggregateId: id }, `codes guessed ${resetsAt.toISOString()}`);
  }

  return {
    /** Counts an attempt. @param challenge names the sign-in, @param owner the user whose factors they are. */
    async begin(challenge: string, owner: Account, kind: CodeKind): Promise<Attempt> {
      const counted: (() => Promise<unknown>)[] = [];
      const giveBack = async () => void (await Promise.allSettled(counted.splice(0).map((each) => each())));
      const orGiveBack = async <Outcome>(run: () => Promise<Outcome>): Promise<Outcome> => {
        try {
          return await run();
        } catch (error) {
          await giveBack();
          throw error;
        }
      };
      const count = async (name: readonly string[], windowMs: number) => {
        const counter = JSON.stringify(name);
        const { count: reached, resetsAt } = await orGiveBack(() => attempts(counter, windowMs));
        counted.push(() => attempts(counter, windowMs, -1));
        return { reached, resetsAt };
      };
      const ofChallenge = await count(['factors challenge', challenge], PER_CHALLENGE.windowMs);
      if (ofChallenge.reached > PER_CHALLENGE.limit) return { isOver: 'challenge' };
      let isLast = false;
      for (const { limit, windowMs } of PER_ACCOUNT[kind]) {
        const { reached, resetsAt } = await count(['factors account', kind, String(windowMs), owner.person.user.id], windowMs);
        if (reached > limit) return { minutes: minutesUntil(resetsAt, now) };
        isLast ||= reached === limit;
      }
      return {
        check: orGiveBack,
        succeeded: giveBack,
        failed: async () => void (isLast && (await raise(owner))),
      };
    },
  };
}
