import type { ArtifactKey, ArtifactStore } from '../../lib/store/artifact-store.js';
import type { Expiring } from './sweep.js';

/** Creates counters over fixed windows. */
export function createCounters(): Pick<ArtifactStore, 'hit'> & { readonly expiring: Expiring } {
  const windows = new Map<ArtifactKey, { count: number; readonly until: number }>();
  return {
    async hit(counter, window, by = 1) {
      const now = Date.now();
      const current = windows.get(counter);
      if (current !== undefined && current.until > now) {
        current.count = Math.max(0, current.count + by);
        return { count: current.count, resetsAt: current.until };
      }
      if (by <= 0) return { count: 0, resetsAt: now };
      const until = now + window;
      windows.set(counter, { count: by, until });
      return { count: by, resetsAt: until };
    },
    expiring: { entries: windows, drop: (counter: ArtifactKey) => windows.delete(counter) },
  };
}
