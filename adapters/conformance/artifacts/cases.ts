/**
 * The contract of the artifact store as cases. Each promise of the contract has a file: records and commits, conditions, expiry, tombstones, accounts,
 * counters, leases, hostile ids, races, peers. `artifact` has the keys and writes that the cases share.
 *
 * The cases use only the interface, and no adapter. `register-cases` runs the cases, and decides which cases a store may skip.
 */
import type { ArtifactStore } from '../../../lib/store/artifact-store.js';
import type { ConformanceCase } from '../conformance-case.js';
import { accountCases } from './accounts.js';
import { conditionCases } from './conditions.js';
import { contractCases } from './contract.js';
import { counterCases } from './counters.js';
import { expiryCases } from './expiry.js';
import { hostileIdCases } from './hostile-ids.js';
import { leaseCases } from './leases.js';
import { peerCases } from './peers.js';
import { raceCases } from './races.js';
import { tombstoneCases } from './tombstones.js';

const cases: readonly ConformanceCase<ArtifactStore>[] = [
  ...contractCases,
  ...conditionCases,
  ...expiryCases,
  ...tombstoneCases,
  ...accountCases,
  ...counterCases,
  ...leaseCases,
  ...hostileIdCases,
  ...raceCases,
  ...peerCases,
];

/** Every promise of the artifact store's contract. */
export const artifactStoreCases: readonly ConformanceCase<ArtifactStore>[] = cases.map(({ name, run }) => ({
  name,
  async run(store, peer) {
    await store.open();
    if (peer !== store) await peer.open();
    await run(store, peer);
  },
}));
