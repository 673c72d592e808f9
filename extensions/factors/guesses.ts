/**
 * Limits for guesses of codes. Attempts are counted before codes are checked, per challenge and per account on all nodes, so that concurrent attempts
 * count.
 *
 * Three of a million codes of the app are valid at a time. At 30 guesses a day, an even chance takes twenty years. Recovery codes have 60 bits and their
 * own limits. So an attacker who uses up the attempts for app codes does not lock the user out.
 */
import { type Account, Attempt, DAY_MS, type ExtensionContext, minutesUntil } from '../../lib/extension-door.js';

/** Limits for the codes of each kind, over all sign-ins of an account. */
const PER_ACCOUNT = { code: ['codesOfAccount', 'codesOfAccountInDay'], recovery: ['recoveryCodesOfAccount'] } as const;
/** Attempts a day to emit the event of a reached limit. More than one, because a node may end before it emitted the event. */
const RAISED = 3;

export type CodeKind = keyof typeof PER_ACCOUNT;

/** An attempt within the limits, or the limit that it exceeds. */
export type Guess =
  | {
      /** Checks the code. An attempt whose check throws does not count, because the store was unavailable. */
      readonly check: <Outcome>(check: () => Promise<Outcome>) => Promise<Outcome>;
      /** Gives the attempt back. */
      readonly succeeded: () => Promise<void>;
      /** Emits the event if the attempt reached a limit. */
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
