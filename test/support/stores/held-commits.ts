import type { ArtifactStore, ArtifactWrite } from '../../../lib/store/artifact-store.js';

/** A store whose commits of some kind wait for others to overtake them. */
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
    /** Holds the next commit that is wanted; resolves when it is there, with what lets it go on. */
    holdNext(which: (writes: readonly ArtifactWrite[]) => boolean): Promise<() => void> {
      wanted = which;
      return new Promise((resolve) => {
        arrived = () => resolve(() => release?.());
      });
    },
  };
}
