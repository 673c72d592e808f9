import type { Caches } from '../../store/cache.js';
import { collections } from '../../store/collections.js';
import type { Voiding, VoidSignIns } from '../context.js';
import type { Deliveries } from '../outbox/deliveries.js';

/** The kind of delivery that says so to whoever keeps sign-ins: it looks again which of them are void. */
const KIND = 'void-sign-ins';

export const createVoiding =
  ({ enqueue }: Pick<Deliveries, 'enqueue'>): Voiding =>
  async (whose, change) => {
    const { release } = await enqueue([{ kind: KIND, data: { ...whose } }]);
    const changed = await change();
    release();
    return changed;
  };

/** Has what keeps sign-ins hear whose may be void. What it answers is left for another time; what it throws makes it hear again. */
export type OnVoidSignIns = (listener: (whose: VoidSignIns) => Promise<VoidSignIns | undefined>) => void;

export const createOnVoidSignIns =
  ({ enqueue, handle }: Pick<Deliveries, 'enqueue' | 'handle'>, { changed }: Pick<Caches, 'changed'>): OnVoidSignIns =>
  (listener) =>
    handle(KIND, async ({ data }) => {
      const whose = data as unknown as VoidSignIns;
      // Tenants are read through caches, which a node that died in between told nothing.
      if ('tid' in whose) await changed(collections.tenants.name);
      const left = await listener(whose);
      if (left) (await enqueue([{ kind: KIND, data: { ...left } }])).release();
    });
