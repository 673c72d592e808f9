/** Contracts of the stores as tests. A store is an adapter if {@link testArtifactStore} or {@link testDirectoryStore} passes. */
import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import type { DirectoryStore } from '../../lib/store/directory-store.js';
import { artifactStoreCases } from './artifacts/cases.js';
import { directoryStoreCases } from './directory/cases.js';
import { type ConformanceOptions, registerCases } from './register-cases.js';

export type { ConformanceCase } from './conformance-case.js';
export type { ConformanceOptions, Describe, Skip, Test } from './register-cases.js';
export { artifactStoreCases, directoryStoreCases };

/**
 * Registers a test for each case of the artifact store's contract.
 * @param make gives a fresh, empty store, which each case opens and closes.
 * @throws TypeError for a skip without a reason or of a case that does not exist.
 * @example
 * ```ts
 * import { testArtifactStore } from 'tenant-idp/adapters/conformance';
 * import { memoryArtifacts } from 'tenant-idp/adapters/memory'; // in its place, yours on an empty database
 *
 * testArtifactStore('my store', async () => memoryArtifacts());
 * ```
 */
export function testArtifactStore(name: string, make: () => Promise<ArtifactStore>, options: ConformanceOptions<ArtifactStore> = {}): void {
  registerCases(`${name}: artifact store`, artifactStoreCases, make, options);
}

/**
 * Registers a test for each case of the directory store's contract.
 * @param make gives a fresh, empty store, which the case opens and closes.
 * @throws TypeError for a skip without a reason or of a case that does not exist.
 * @example
 * ```ts
 * import { testDirectoryStore } from 'tenant-idp/adapters/conformance';
 * import { memoryDirectory } from 'tenant-idp/adapters/memory'; // in its place, yours on an empty database
 *
 * testDirectoryStore('my store', async () => memoryDirectory());
 * ```
 */
export function testDirectoryStore(
  name: string,
  make: () => Promise<DirectoryStore>,
  options: ConformanceOptions<DirectoryStore> = {},
): void {
  registerCases(`${name}: directory store`, directoryStoreCases, make, options);
}
