/**
 * Patterns of `attributes.schema` with a time limit. Users send texts for these patterns, and a regular expression with nested quantifiers, such as
 * `^(a+)+$`, takes exponential time for a short text that does not match. The limit of `node:vm` ends such a match, which then counts as no match. A check
 * with such a match accepts nothing, because under `not`, or as the name of a member, no match may accept what the pattern refuses.
 */
import { createContext, Script } from 'node:vm';

/** Milliseconds that all matches of one check may take. */
export const MOST_MS = 200;

const run = new Script('run()');
const context = createContext({ run: (): boolean => false });

/** Returns the result; undefined after the time limit. */
function timed(test: () => boolean, ms: number): boolean | undefined {
  context.run = test;
  try {
    return run.runInContext(context, { timeout: ms }) as boolean;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined;
    throw error;
  }
}

/** The patterns of one schema. The matches of one check share the time. */
export class TimedPatterns {
  #left = MOST_MS;
  #isOver = false;

  /** Whether the time of the last check was over before all its matches ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Runs a check, whose matches share the time. */
  within<T>(check: () => T): T {
    this.#left = MOST_MS;
    this.#isOver = false;
    return check();
  }

  /** Creates a pattern in the form that `ajv` requires. @throws SyntaxError */
  readonly regExp = Object.assign(
    (pattern: string, flags: string) => {
      const regExp = new RegExp(pattern, flags);
      // `ajv` distinguishes patterns by their texts.
      return { test: (text: string) => this.#test(regExp, text), toString: () => String(regExp) };
    },
    { code: 'new RegExp' },
  );

  #test(regExp: RegExp, text: string): boolean {
    // The limit of `node:vm` is at least 1 ms.
    const ms = Math.floor(this.#left);
    const start = performance.now();
    const isMatch = ms < 1 ? undefined : timed(() => regExp.test(text), ms);
    this.#left -= performance.now() - start;
    if (isMatch === undefined) this.#isOver = true;
    return isMatch ?? false;
  }
}
