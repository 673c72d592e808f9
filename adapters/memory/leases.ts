import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import type { Expiring } from './sweep.js';

/** Creates leases for the services that share this store. */
export function createLeases(): Pick<ArtifactStore, 'lease'> & { readonly expiring: Expiring } {
  const leases = new Map<string, { readonly holder: string; readonly until: number }>();
  return {
    async lease(name, holder, ttl) {
      const now = Date.now();
      const current = leases.get(name);
      const currentHolder = current !== undefined && current.until > now ? current.holder : undefined;
      if (ttl > 0) {
        if (currentHolder !== undefined && currentHolder !== holder) return false;
        leases.set(name, { holder, until: now + ttl });
        return true;
      }
      return currentHolder === holder && leases.delete(name);
    },
    expiring: { entries: leases, drop: (name) => leases.delete(name) },
  };
}
