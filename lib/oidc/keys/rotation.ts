import type { JWK } from 'jose';
import { rounds, type WorkProblem } from '../../background/rounds.js';
import type { KeyRotation, KeyState } from '../../directory/index.js';
import { IdpError } from '../../errors.js';
import type { Attribution } from '../../events.js';
import type { Logger } from '../../logger.js';
import { loadSigningKeys, type SigningKeys } from './keys.js';

/** Has the signing keys in use replaced when others take their turn. */
export interface RotatingKeys {
  /** Loads and uses the keys, and watches them from then on. @throws what {@link KeyRotation.load} and `use` throw. */
  begin(): Promise<void>;
  /** @param options `by` for the events. @throws IdpError `keys_given`, `key_not_announced`. */
  rotate(options?: { readonly now?: boolean; readonly by?: Attribution }): Promise<void>;
  /** Those that are published. */
  list(): Promise<readonly KeyState[]>;
  /** What fails. */
  problems(): readonly WorkProblem[];
  close(): Promise<void>;
}

export interface RotatingKeysOptions {
  /** Private JWKs that never change; without any, the keys are those of the rotation. */
  readonly given: readonly JWK[] | undefined;
  readonly rotation: KeyRotation;
  /** Calls back when the keys were written, here or on another node. */
  readonly watch: (listener: () => void) => void;
  /** Begins to use keys. */
  readonly use: (keys: SigningKeys) => void;
  readonly logger: Logger;
  /** The time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
}

/** Milliseconds between two looks at the clock. */
const INTERVAL_MS = 1000;

/** Rotates keys after {@link RotatingKeys.begin}. If new keys cannot be loaded, the keys in use stay until they can. */
export function createRotatingKeys(options: RotatingKeysOptions): RotatingKeys {
  const { given, rotation, watch, use, logger, now } = options;
  if (given) {
    const keys = loadSigningKeys(given);
    return {
      begin: async () => use(keys),
      list: async () => keys.all.map(({ kid, alg }) => ({ kid, alg, state: 'active' })),
      rotate: () => Promise.reject(new IdpError('keys_given')),
      problems: () => [],
      close: async () => {},
    };
  }

  let used = '';
  let dueAt = 0;
  const read = async (): Promise<void> => {
    const loaded = await rotation.load();
    const next = loaded.jwks.map(({ kid }) => kid).join(' ');
    if (next !== used) use(loadSigningKeys(loaded.jwks));
    [used, dueAt] = [next, loaded.dueAt];
  };
  let reading: Promise<void> = Promise.resolve();
  /** One after another, so that none undoes a later one's work. */
  const load = (): Promise<void> => {
    reading = reading.then(read, read);
    return reading;
  };

  let isStale = false;
  const work = rounds({
    name: 'signing keys',
    every: INTERVAL_MS,
    first: INTERVAL_MS,
    async run() {
      if (!isStale && now() < dueAt) return;
      // Until it has succeeded.
      isStale = true;
      if (now() >= dueAt) await rotation.advance();
      while (isStale) {
        isStale = false;
        await load().catch((error: unknown) => {
          isStale = true;
          throw error;
        });
      }
    },
    logger,
    messages: { round: 'signing keys could not be read or rotated; another attempt follows' },
  });

  return {
    async begin() {
      await load();
      watch(() => {
        isStale = true;
        work.nudge();
      });
      work.start();
    },
    list: rotation.list,
    async rotate(rotateOptions) {
      await rotation.rotate(rotateOptions);
      await load();
    },
    problems: () => work.problems(),
    close: () => work.close(),
  };
}
