/**
 * The functions of the package that need the service. The first call of such a function loads the service, because an import for errors, types or claim
 * sets should not load the service.
 */

import type { IdentityProviderOptions } from '../options/options.js';
import type { DirectoryCopy } from './copy-directory.js';
import type { IdentityProvider } from './identity-provider.js';

/**
 * Creates an identity provider. Resolves when the provider can serve: stores opened, signing keys loaded, seed applied.
 * @throws ConfigError with all problems of the options; IdpError `store_unavailable`, which names the unavailable store.
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import { createIdentityProvider } from 'tenant-idp';
 *
 * const idp = await createIdentityProvider({
 *   issuer: 'http://localhost:3000',
 *   seed: {
 *     tenants: [{ name: 'Acme', persons: [{ givenName: 'Alice', familyName: 'Adams', user: { userName: 'alice', devPassword: 'alice' } }] }],
 *     clients: [
 *       {
 *         id: 'web',
 *         name: 'Web',
 *         secret: 'web-secret',
 *         allowedScopes: ['openid', 'profile'],
 *         metadata: { redirect_uris: ['http://localhost:3001/callback'] },
 *       },
 *     ],
 *   },
 * });
 * createServer(idp.callback()).listen(3000);
 * ```
 */
export async function createIdentityProvider(options: IdentityProviderOptions): Promise<IdentityProvider> {
  const service = await import('./create-identity-provider.js');
  return service.createIdentityProvider(options);
}

/**
 * Copies all rows of a directory while the service is stopped. Both stores stay open after the copy. Ids and members stay as they are, also in rows that the
 * service cannot read. Versions begin at 1. A copy that was interrupted may be started again. Artifacts are not copied, so all users sign in again.
 * @returns the number of rows in each collection
 * @throws IdpError `conflict` if the target has another row with the same id or unique value, or if the source was written during the copy;
 * `invalid_record` if the target cannot store a row
 * @example
 * ```ts
 * import { MongoClient } from 'mongodb';
 * import { copyDirectory } from 'tenant-idp';
 * import { mongoDirectory, mongoOptions } from 'tenant-idp/adapters/mongo';
 * import { memoryDirectory } from 'tenant-idp/adapters/memory'; // in its place, the new store
 *
 * const client = new MongoClient('mongodb://localhost:27017', mongoOptions);
 * console.log(await copyDirectory({ from: mongoDirectory({ db: client.db('login') }), to: memoryDirectory() }));
 * await client.close();
 * ```
 */
export async function copyDirectory(copy: DirectoryCopy): Promise<Readonly<Record<string, number>>> {
  const service = await import('./copy-directory.js');
  return service.copyDirectory(copy);
}
