/** A service with SAML, and an administrator of it. */
import { type SamlOptions, saml } from 'tenant-idp/extensions/saml';
import { type AdminClient, adminClient, administer, adminScopes, adminSeed, adminToken } from '../administration/admin.js';

export const samlScopes = ['saml-signing-keys'].flatMap((resource) => [`idp.${resource}:read`, `idp.${resource}:write`]);

/** The seed of the admin tests; `operator` administers SAML as well, and `operator-of-acme` that of one tenant. */
export const samlSeed = {
  ...adminSeed,
  permissions: [...adminSeed.permissions, ...samlScopes.map((id) => ({ id, name: id }))],
  clients: [
    ...adminSeed.clients,
    adminClient('operator', ['*'], [...adminScopes, ...samlScopes]),
    adminClient('operator-of-acme', ['Acme'], [...adminScopes, ...samlScopes]),
  ],
};

/** Options of a service with SAML. */
export const withSaml = (options: SamlOptions = {}) => ({
  extensions: [saml(options)],
  seed: samlSeed as never,
  limits: { adminRequestsPerMinute: 100_000 },
});

export const operatorOf = async (issuer: string, client = 'operator'): Promise<AdminClient> =>
  administer(issuer, await adminToken(issuer, client, [...adminScopes, ...samlScopes].join(' ')));

/** The certificates of metadata, in their order. */
export const certificatesIn = (metadata: string): readonly string[] =>
  [...metadata.matchAll(/<ds:X509Certificate>([^<]+)</g)].map(([, certificate = '']) => certificate);

export const metadataAt = async (issuer: string): Promise<string> => (await fetch(`${issuer}/idp/saml/metadata`)).text();
