/**
 * Rate limits for guesses of codes. Attempts are counted before codes are checked, per challenge and per account on all nodes, so that concurrent attempts
 * count.
 *
 * Three of a million codes of the app are valid at a time. At 30 guesses a day, an even chance takes twenty years. Recovery codes have 60 bits and their
 * own rate limits. So an attacker who uses up the attempts for app codes does not lock the user out.
 */
import { type Account, Attempt, DAY_MS, type ExtensionContext, minutesUntil } from '../../lib/extension-door.js';

/** Rate limits for the codes of each kind, across all sign-ins of an account. */
const PER_ACCOUNT = { code: ['codesOfAccount', 'codesOfAccountInDay'], recovery: ['recoveryCodesOfAccount'] } as const;
/** Maximum attempts a day to emit the event of a reached rate limit. The maximum is above one, because a node may end before it emitted the event. */
const RAISED = 3;

export type CodeKind = keyof typeof PER_ACCOUNT;

/** An attempt within the rate limits, or the rate limit that the attempt exceeds. */
export type Guess =
  | {
      /** Checks the code. An attempt whose check throws does not count, because the store was unavailable. */
      readonly check: <Outcome>(check: () => Promise<Outcome>) => Promise<Outcome>;
      /** Removes the attempt from the count. */
      readonly succeeded: () => Promise<void>;
      /** Emits the event if the attempt reached a rate limit. */
      readonly failed: () => Promise<void>;
    }
  | { readonly isOver: 'challenge' }
  | { readonly minutes: number };

export type Guesses = ReturnType<typeof createGuesses>;

export function createGuesses({
  limits: { limit, rules },
  work: { emit },
  service: { now },
}: Pick<ExtensionContext, 'limits' | 'work' | 'service'>) {
  /** Emits `FactorCodesGuessed`, once a day. */
  async function raise(owner: Account): Promise<void> {
    const { id } = owner.person.user;
    const { isOver, resetsAt } = await limit('factors guessed', { of: RAISED, in: DAY_MS }).attempt(id);
    if (!isOver) await emit('FactorCodesGuessed', owner, { AggregateId: id }, `codes guessed ${resetsAt.toISOString()}`);
  }

  return {
    /**
     * Counts an attempt.
     * @param challenge name of the sign-in
     * @param owner user to whom the factors belong
     */
    async begin(challenge: string, owner: Account, kind: CodeKind): Promise<Guess> {
      const attempt = new Attempt();
      if ((await attempt.count(limit('codesInSignIn'), challenge)).isOver) return { isOver: 'challenge' };
      let isLast = false;
      for (const name of PER_ACCOUNT[kind]) {
        const { count, isOver, resetsAt } = await attempt.count(limit(name), owner.person.user.id);
        if (isOver) return { minutes: minutesUntil(resetsAt, now) };
        isLast ||= count === rules[name].of;
      }
      return {
        check: (check) => attempt.run(check),
        succeeded: () => attempt.giveBack(),
        failed: async () => void (isLast && (await raise(owner))),
      };
    },
  };
}
