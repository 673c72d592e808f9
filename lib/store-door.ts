/** The public door to stores: `tenant-idp/store`, the contracts that adapters keep. `tenant-idp/adapters/conformance` tests one. */
export { ConfigError, type ConfigProblem, IdpError } from './errors.js';
export { digestOfKey, slotOfKey } from './store/artifact-key.js';
export type {
  Artifact,
  ArtifactKey,
  ArtifactStore,
  ArtifactWrite,
  CommitResult,
  Condition,
  Counter,
  Put,
  ReadRequest,
  Remove,
} from './store/artifact-store.js';
export type {
  Collection,
  CollectionSpec,
  DirectoryStore,
  IndexSpec,
  Order,
  Ordered,
  Page,
  Position,
  Range,
  Row,
  Unsaved,
  Where,
} from './store/directory-store.js';
