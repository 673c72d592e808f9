import { memoryArtifacts } from '../adapters/memory/index.js';
import type { ArtifactStore } from '../lib/store/artifact-store.js';

/** The store of ours, ready. @param url of a Redis server, maybe with a database number. */
export async function openArtifacts(_url: string): Promise<ArtifactStore> {
  const store = memoryArtifacts();
  await store.open();
  return store;
}
