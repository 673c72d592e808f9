/**
 * The factory of the package. The first call of the factory loads the service, because an import for errors, types or claim sets should not load the
 * service.
 */

import type { IdentityProviderOptions } from '../options/options.js';
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
