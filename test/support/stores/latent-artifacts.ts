import type { ArtifactStore } from '../../../lib/store/artifact-store.js';

/** A store that answers after a while, sooner or later: what a remote one does, and what lets requests overtake each other. */
export function latentArtifacts(store: ArtifactStore, milliseconds = 6): ArtifactStore {
  const pause = () => new Promise<void>((resolve) => setTimeout(resolve, Math.random() * milliseconds));
  const late = async <T>(ask: () => Promise<T>): Promise<T> => {
    await pause();
    const answer = await ask();
    await pause();
    return answer;
  };
  return { ...store, read: (requests) => late(() => store.read(requests)), commit: (writes) => late(() => store.commit(writes)) };
}
