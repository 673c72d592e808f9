import type { Collection } from 'mongodb';
import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import { isDuplicate } from './database.js';
import { inTime } from './deadline.js';

export interface LeaseDocument {
  readonly _id: string;
  /** Holder of the lease. */
  readonly h: string;
  readonly e: Date;
}

/** Creates leases for the services that share this store. */
export function createLeases(leases: Collection<LeaseDocument>, clock: () => number): Pick<ArtifactStore, 'lease'> {
  return {
    async lease(name, holder, ttl) {
      const now = new Date(clock());
      if (ttl <= 0) {
        const { deletedCount } = await inTime((bounds) => leases.deleteOne({ _id: name, h: holder, e: { $gt: now } }, { ...bounds }));
        return deletedCount === 1;
      }
      try {
        await inTime((bounds) =>
          leases.updateOne(
            { _id: name, $or: [{ h: holder }, { e: { $lte: now } }] },
            { $set: { h: holder, e: new Date(now.getTime() + ttl) } },
            { ...bounds, upsert: true },
          ),
        );
        return true;
      } catch (error) {
        if (isDuplicate(error)) return false;
        throw error;
      }
    },
  };
}
