/** Stores in the memory of this node: for development, tests and demonstrations. No data survives a restart. */
export { memoryArtifacts } from './artifacts.js';
export { memoryDirectory } from './directory.js';
