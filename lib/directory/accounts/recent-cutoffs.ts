import { hashedKey } from '../../store/artifact-key.js';
import type { ArtifactKey, ArtifactStore } from '../../store/artifact-store.js';
import { nodeTime } from '../../times/node-time.js';

/** Milliseconds for which a cut-off is remembered: longer than any node caches a row. */
const REMEMBERED_MS = 120_000;

/**
 * The accounts whose sign-ins were cut off recently, by `oid`. Some endpoints answer about an account without a token or a session of the account. These
 * endpoints ask here before they answer from cached rows, because a cut-off leaves nothing else that they read.
 */
export interface RecentCutoffs {
  note(oid: string): Promise<void>;
  /** Returns whether the sign-ins of one of these accounts were cut off recently. Returns true if the store cannot tell. */
  mayInclude(oids: readonly string[]): Promise<boolean>;
}

export const createRecentCutoffs = (artifacts: Pick<ArtifactStore, 'read' | 'commit'>): RecentCutoffs => ({
  async note(oid) {
    await artifacts.commit([{ op: 'put', key: keyOf(oid), value: '{}', expiresAt: nodeTime() + REMEMBERED_MS }]);
  },
  mayInclude: (oids) =>
    artifacts.read(oids.map((oid) => ({ key: keyOf(oid) }))).then(
      (found) => found.size > 0,
      () => true,
    ),
});

/** A directory without a store of sign-ins, where every account may have been cut off. */
export const unknownCutoffs: RecentCutoffs = { note: async () => undefined, mayInclude: async () => true };

const keyOf = (oid: string): ArtifactKey => hashedKey('CutOff', oid);
