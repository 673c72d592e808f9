import type { ArtifactStore, ArtifactWrite } from '../../../lib/store/artifact-store.js';

/** Returns a store that can hold a commit, so that other commits overtake it. */
export function heldCommits(store: ArtifactStore) {
  let wanted: ((writes: readonly ArtifactWrite[]) => boolean) | undefined;
  let arrived: (() => void) | undefined;
  let release: (() => void) | undefined;
  const artifacts: ArtifactStore = {
    ...store,
    async commit(writes) {
      if (wanted?.(writes)) {
        wanted = undefined;
        const gate = new Promise<void>((resolve) => {
          release = resolve;
        });
        arrived?.();
        await gate;
      }
      return store.commit(writes);
    },
  };
  return {
    artifacts,
    /** Holds the next commit that `which` accepts. Resolves when that commit waits, with a function that releases the commit. */
    holdNext(which: (writes: readonly ArtifactWrite[]) => boolean): Promise<() => void> {
      wanted = which;
      return new Promise((resolve) => {
        arrived = () => resolve(() => release?.());
      });
    },
  };
}
