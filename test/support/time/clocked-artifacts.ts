import type { Artifact, ArtifactStore, ArtifactWrite } from '../../../lib/store/artifact-store.js';

/**
 * Returns a store whose server has a separate clock. The node's clock is `ahead` milliseconds ahead of the server's, or behind if `ahead`
 * is negative. All times that the store gets and returns are in the server's time.
 */
export function clockedArtifacts(store: ArtifactStore, ahead: number): ArtifactStore {
  const given = <A extends Pick<Artifact, 'expiresAt' | 'consumedAt'>>(artifact: A, by: number): A => ({
    ...artifact,
    expiresAt: artifact.expiresAt + by,
    ...(artifact.consumedAt === undefined ? {} : { consumedAt: artifact.consumedAt + by }),
  });
  const written = (write: ArtifactWrite): ArtifactWrite =>
    write.op === 'put' ? given(write, ahead) : { ...write, until: write.until + ahead };
  return {
    ...store,
    time: async () => Date.now() - ahead,
    read: async (requests) => new Map([...(await store.read(requests))].map(([key, artifact]) => [key, given(artifact, -ahead)])),
    commit: (writes) => store.commit(writes.map(written)),
    listByAccount: async (account) => (await store.listByAccount(account)).map((artifact) => given(artifact, -ahead)),
    hit: async (...call) => {
      const counter = await store.hit(...call);
      return { ...counter, resetsAt: counter.resetsAt - ahead };
    },
  };
}
