/** Public entry point for adapters: `tenant-idp/store`, the contracts of the stores. `tenant-idp/adapters/conformance` tests an adapter. */
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
