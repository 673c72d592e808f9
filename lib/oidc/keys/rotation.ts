import type { JWK } from 'jose';
import type { KeyRotation } from '../../directory/index.js';
import { IdpError, isToldAlready } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { loadSigningKeys, type SigningKeys } from './keys.js';

/** The protocol, built anew when the signing keys change. A request under way ends on the one that it began on. */
export interface RotatingProtocol<P> {
  /** What a request that comes now is answered by. */
  current(): P;
  /** @throws IdpError `keys_given`, `key_not_announced`. */
  rotate(options?: { readonly now?: boolean }): Promise<void>;
  close(): Promise<void>;
}

export interface RotatingProtocolOptions<P> {
  /** Private JWKs that never change; without any, the keys are those of the rotation. */
  readonly given: readonly JWK[] | undefined;
  readonly rotation: KeyRotation;
  /** Calls back when the keys were written, here or on another node. */
  readonly watch: (listener: () => void) => void;
  readonly build: (keys: SigningKeys) => P;
  readonly logger: Logger;
}

/** Milliseconds between two looks at the clock. */
const INTERVAL_MS = 1000;

/** @throws what {@link KeyRotation.load} and `build` throw, at the start; later the protocol stays as it is until they do not. */
export async function createRotatingProtocol<P>(options: RotatingProtocolOptions<P>): Promise<RotatingProtocol<P>> {
  const { given, rotation, watch, build, logger } = options;
  if (given) {
    const protocol = build(loadSigningKeys(given));
    return {
      current: () => protocol,
      rotate: () => Promise.reject(new IdpError('keys_given')),
      close: async () => {},
    };
  }

  let protocol: P;
  let built = '';
  let dueAt = 0;
  const read = async (): Promise<void> => {
    const loaded = await rotation.load();
    const next = loaded.jwks.map(({ kid }) => kid).join(' ');
    if (next !== built) protocol = build(loadSigningKeys(loaded.jwks));
    [built, dueAt] = [next, loaded.dueAt];
  };
  let reading: Promise<void> = read();
  await reading;
  /** One after another, so that none undoes a later one's work. */
  const load = (): Promise<void> => {
    reading = reading.then(read, read);
    return reading;
  };

  let isStale = false;
  let isFailing = false;
  let working: Promise<void> | undefined;
  const work = async (): Promise<void> => {
    try {
      if (Date.now() >= dueAt) await rotation.advance();
      do {
        isStale = false;
        await load();
      } while (isStale);
      isFailing = false;
    } catch (error) {
      isStale = true;
      if (!isFailing && !isToldAlready(error))
        logger.error({ err: error }, 'signing keys could not be read or rotated; another attempt follows');
      isFailing = true;
    }
  };
  const look = (): void => {
    if (!isStale && Date.now() < dueAt) return;
    working ??= work().finally(() => {
      working = undefined;
    });
  };
  watch(() => {
    isStale = true;
    look();
  });
  const timer = setInterval(look, INTERVAL_MS).unref();

  return {
    current: () => protocol,
    async rotate(rotateOptions) {
      await rotation.rotate(rotateOptions);
      await load();
    },
    async close() {
      clearInterval(timer);
      await working;
    },
  };
}
