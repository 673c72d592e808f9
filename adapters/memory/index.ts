/** Stores in the memory of this process: for development, tests and demonstrations. Nothing survives a restart. */
export { memoryArtifacts } from './artifacts.js';
export { memoryDirectory } from './directory.js';
