import type { Caches } from '../../store/caches/cache.js';
import { collections } from '../../store/records/collections.js';
import type { NextNotBefore, SignInCutoff, WithCutoff } from '../context.js';
import type { Deliveries } from '../outbox/deliveries.js';

/** The kind of delivery that tells the keeper of sign-ins to look again which of them are void. */
const KIND = 'void-sign-ins';

/** @param now the time that sign-ins are kept in */
export function createWithCutoff({ enqueue }: Pick<Deliveries, 'enqueue'>, now: () => number): WithCutoff {
  /** Sign-ins are known to the second. The cut-off is the next second: a sign-in in it is the first that counts. */
  const nextNotBefore: NextNotBefore = ({ notBefore }) =>
    new Date((Math.floor(Math.max(now(), notBefore?.getTime() ?? 0) / 1000) + 1) * 1000);
  return async (cutoff, change) => {
    const { release } = await enqueue([{ kind: KIND, data: { ...cutoff } }]);
    const changed = await change(nextNotBefore);
    release();
    return changed;
  };
}

/** Registers the keeper of sign-ins. A cut-off that it returns is delivered later; one that it throws at is delivered again. */
export type OnSignInCutoff = (listener: (cutoff: SignInCutoff) => Promise<SignInCutoff | undefined>) => void;

export interface SignInCutoffs {
  readonly on: OnSignInCutoff;
  /** Has the sign-ins ended now that a cut-off voids. */
  cutOff(cutoff: SignInCutoff): Promise<void>;
}

export function createSignInCutoffs(
  { enqueue, handle }: Pick<Deliveries, 'enqueue' | 'handle'>,
  { changed }: Pick<Caches, 'changed'>,
): SignInCutoffs {
  let keeper: Parameters<OnSignInCutoff>[0] | undefined;
  return {
    on(listener) {
      keeper = listener;
      handle(KIND, async ({ data }) => {
        const cutoff = data as unknown as SignInCutoff;
        // Tenants are read through caches, which a node that crashed after the write has not told.
        if ('tid' in cutoff) await changed(collections.tenants.name);
        const left = await listener(cutoff);
        if (left) (await enqueue([{ kind: KIND, data: { ...left } }])).release();
      });
    },
    async cutOff(cutoff) {
      await keeper?.(cutoff);
    },
  };
}
