import type { Caches } from '../store/cache.js';
import { collections } from '../store/collections.js';
import type { Deliveries } from './deliveries.js';

/** Whose sign-ins a change makes void: those of a user, by `oid`, or of all users of a tenant. */
export type VoidSignIns = { readonly oid: string } | { readonly tid: string; readonly after?: string };

/** The kind of delivery that says so to whoever keeps sign-ins: it looks again which of them are void. */
const KIND = 'void-sign-ins';

/** Makes a change that voids sign-ins. Said before it is written, so that a node that dies in between keeps it from nobody; heard after. */
export type Voiding = <T>(whose: VoidSignIns, change: () => Promise<T>) => Promise<T>;

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

/**
 * Makes every sign-in until now void. Sign-ins are known to the second, so it is the one that comes, after all that were told before: a sign-in
 * in it is the first that counts.
 */
export const nextNotBefore = ({ notBefore }: { readonly notBefore?: Date }): Date =>
  new Date((Math.floor(Math.max(Date.now(), notBefore?.getTime() ?? 0) / 1000) + 1) * 1000);
