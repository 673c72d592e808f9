import type { ArtifactStore } from '../../../lib/store/artifact-store.js';

/** Returns a store that answers after random delays, as a remote store does. Requests can therefore overtake each other. */
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
