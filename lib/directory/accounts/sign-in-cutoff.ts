import type { Caches } from '../../store/caches/cache.js';
import { collections } from '../../store/records/collections.js';
import type { NextNotBefore, SignInCutoff, WithCutoff } from '../context.js';
import type { Deliveries } from '../outbox/deliveries.js';

/** Kind of the delivery after which the listener checks again which sign-ins have ended. */
const KIND = 'void-sign-ins';

/** @param now the time by which sign-ins are stored */
export function createWithCutoff({ enqueue }: Pick<Deliveries, 'enqueue'>, now: () => number): WithCutoff {
  /** Returns the start of the next second, because sign-in times have whole seconds. A sign-in in that second is the first valid sign-in. */
  const nextNotBefore: NextNotBefore = ({ notBefore }) =>
    new Date((Math.floor(Math.max(now(), notBefore?.getTime() ?? 0) / 1000) + 1) * 1000);
  return async (cutoff, change) => {
    const { release } = await enqueue([{ kind: KIND, data: { ...cutoff } }]);
    const changed = await change(nextNotBefore);
    release();
    return changed;
  };
}

/**
 * Registers the listener that ends sign-ins. If the listener returns a cut-off, that cut-off is delivered later. If the listener throws,
 * the cut-off is delivered again.
 */
export type OnSignInCutoff = (listener: (cutoff: SignInCutoff) => Promise<SignInCutoff | undefined>) => void;

export interface SignInCutoffs {
  readonly on: OnSignInCutoff;
  /** Ends the sign-ins of a cut-off now. */
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
        // Caches may hold the former tenant, if a node crashed after its write and before it invalidated them.
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
