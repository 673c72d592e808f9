import type { JWK } from 'jose';
import { rounds, type WorkProblem } from '../../background/rounds.js';
import type { KeyRotation, KeyState } from '../../directory/index.js';
import { IdpError } from '../../errors.js';
import type { Attribution } from '../../events.js';
import type { Logger } from '../../logger.js';
import { loadSigningKeys, type SigningKeys } from './keys.js';

/** Signing keys that rotate. */
export interface RotatingKeys {
  /** Loads and uses the signing keys, and watches them from then on. @throws the errors of {@link KeyRotation.load} and `use`. */
  begin(): Promise<void>;
  /** Rotates the keys. @param options `by`: attribution for the events. @throws IdpError `keys_given`, `key_not_announced`. */
  rotate(options?: { readonly now?: boolean; readonly by?: Attribution }): Promise<void>;
  /** Returns the published keys. */
  list(): Promise<readonly KeyState[]>;
  /** Returns current failures. */
  problems(): readonly WorkProblem[];
  close(): Promise<void>;
}

export interface RotatingKeysOptions {
  /** Private JWKs that never change. Undefined: the signing keys are the keys of the rotation. */
  readonly given: readonly JWK[] | undefined;
  readonly rotation: KeyRotation;
  /** Calls the listener after the signing keys were written, on this node or another node. */
  readonly watch: (listener: () => void) => void;
  /** Uses these signing keys from now on. */
  readonly use: (keys: SigningKeys) => void;
  readonly logger: Logger;
  /** Returns the time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
}

/** Milliseconds between two checks of the clock. */
const INTERVAL_MS = 1000;
/**
 * Milliseconds after which the signing keys are loaded again without a notice. A node may have died between a rotation and its notice to the other nodes.
 */
const RELOAD_MS = 60_000;

/**
 * Creates the rotation of signing keys, which runs after {@link RotatingKeys.begin}. If new keys cannot be loaded, the current keys stay in use until the
 * new keys can be loaded.
 */
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
  let loadedAt = 0;
  const read = async (): Promise<void> => {
    const loaded = await rotation.load();
    const next = loaded.jwks.map(({ kid }) => kid).join(' ');
    if (next !== used) use(loadSigningKeys(loaded.jwks));
    [used, dueAt, loadedAt] = [next, loaded.dueAt, now()];
  };
  let reading: Promise<void> = Promise.resolve();
  /** Loads the signing keys. Loads run one after another, so that no earlier load undoes a later load. */
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
      if (!isStale && now() < Math.min(dueAt, loadedAt + RELOAD_MS)) return;
      // The keys stay stale until a load has succeeded.
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
    messages: { round: 'this node could not read or rotate signing keys, and retries' },
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
