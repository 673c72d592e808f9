/**
 * Data of both servers: the same clients with the same secrets, the same signing keys, and one person. The person has every claim that a person can have.
 */
import type { JWK } from 'jose';
import { testKeys } from '../test/support/service/keys.js';

export const signingKeys = testKeys;
/** Origin of the application that runs in a browser. */
export const origin = 'http://127.0.0.1:9';
export const redirectUri = `${origin}/callback`;
export const user = { userName: 'alice@acme.test', password: 'alice' };

/** Scopes of all standard claims, and of a refresh token. */
export const identityScopes = 'openid profile email phone org roles perms';
export const userScopes = `${identityScopes} offline_access`;
export const apiScope = 'orders.read';

const secretOf = (id: string): string => `${id}-secret`;
export const authorizationOf = (id: string): string => `Basic ${Buffer.from(`${id}:${secretOf(id)}`).toString('base64')}`;
/** Returns a header with an escape, as libraries send secrets that need an escape. @see RFC 6749 §2.3.1 */
export const escapedAuthorizationOf = (id: string): string =>
  `Basic ${Buffer.from(`${id}:${secretOf(id).replace('-', '%2D')}`).toString('base64')}`;
/** Returns headers of a form whose type this library leaves to oidc-provider's parser. */
export const unusualHeadersOf = (id: string) => ({
  authorization: authorizationOf(id),
  'content-type': 'application/x-www-form-urlencoded; charset="utf-8"',
});

/** Key of the clients that authenticate by `private_key_jwt`. */
export const clientKey: JWK = {
  kty: 'EC',
  crv: 'P-256',
  x: 'tA9Au_1iBKO2rHAnjWWE5Wi8uWm6Sgs_6ulQ1xBbms4',
  y: '9EXZS80OIytZtek3njJelJsfCqcYy7uJpPPXsKkVdnM',
  d: 'kf-fgpUwoBOACCnEOmC1QWHvgKmPNiWV8LUwjDB5PlU',
  kid: 'client',
};
const { d: _, ...publicKey } = clientKey;
const byPrivateKey = {
  token_endpoint_auth_method: 'private_key_jwt' as const,
  jwks: { keys: [{ ...publicKey, alg: 'ES256', use: 'sig' }] },
};

const web = (alg: string) => ({
  redirect_uris: [redirectUri],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code' as const],
  id_token_signed_response_alg: alg,
});

/** The client that asks persons by CIBA. */
const callCentre = {
  redirect_uris: [],
  grant_types: ['urn:openid:params:grant-type:ciba'],
  response_types: [],
  id_token_signed_response_alg: 'ES256',
  backchannel_token_delivery_mode: 'poll' as const,
};
/** Seconds for which a request waits, so that the supply of a row stays valid. */
export const requestLifetime = 600;

const service = { grant_types: ['client_credentials'], response_types: [], redirect_uris: [] };

/** Applications and services for each signing algorithm and each way to authenticate. Clients in `jwt` get JWT access tokens. */
const clients: readonly { readonly id: string; readonly metadata: Readonly<Record<string, unknown>> }[] = [
  { id: 'web-es256', metadata: web('ES256') },
  { id: 'web-rs256', metadata: web('RS256') },
  { id: 'web-private-key', metadata: { ...web('ES256'), ...byPrivateKey } },
  { id: 'web-public', metadata: { ...web('ES256'), token_endpoint_auth_method: 'none' } },
  { id: 'service', metadata: service },
  { id: 'service-private-key', metadata: { ...service, ...byPrivateKey } },
  { id: 'call-centre', metadata: callCentre },
];
const jwtClients = [
  { id: 'web-jwt-es256', metadata: web('ES256') },
  { id: 'web-jwt-rs256', metadata: web('RS256') },
  { id: 'service-jwt-es256', metadata: { ...service, id_token_signed_response_alg: 'ES256' } },
  { id: 'service-jwt-rs256', metadata: { ...service, id_token_signed_response_alg: 'RS256' } },
];
/** Lifetime of a JWT access token, in seconds. */
export const jwtLifetime = 600;
/** The API resource that introspects. */
export const api = 'orders';
const apiMetadata = { grant_types: [], response_types: [], redirect_uris: [], introspection_signed_response_alg: 'ES256' };

const hasSecret = (metadata: Readonly<Record<string, unknown>>): boolean => !('token_endpoint_auth_method' in metadata);

/** Clients in the form of oidc-provider. */
export const plainClients = [...clients, ...jwtClients, { id: api, metadata: apiMetadata }].map(({ id, metadata }) => ({
  client_id: id,
  ...(hasSecret(metadata) && { client_secret: secretOf(id) }),
  ...metadata,
}));

const permissions = Array.from({ length: 24 }, (_, index) => ({ id: `orders.permission-${index + 1}`, name: `Permission ${index + 1}` }));
const groups = Array.from({ length: 8 }, (_, index) => ({
  name: `Group ${index + 1}`,
  permissions: permissions.slice(index * 3, index * 3 + 3).map(({ id }) => id),
}));

/** The same data as records of this library, and the person of all claims: subsidiary, 8 groups, 24 permissions. */
export const seed = {
  permissions,
  tenants: [
    {
      name: 'Acme',
      organisationNumber: '910000001',
      subsidiaries: [{ name: 'Acme North', organisationNumber: '910000002' }],
      groups,
      persons: [
        {
          givenName: 'Alice',
          familyName: 'Adams',
          email: user.userName,
          phoneNumber: '+4790000001',
          subsidiary: 'Acme North',
          user: { userName: user.userName, emailVerified: true, groups: groups.map(({ name }) => name), devPassword: user.password },
        },
      ],
    },
  ],
  clients: [...clients, ...jwtClients].map((client) => ({
    id: client.id,
    name: client.id,
    ...(hasSecret(client.metadata) && { secret: secretOf(client.id) }),
    metadata: client.metadata,
    allowedScopes: [...identityScopes.split(' '), apiScope],
    idTokenClaims: 'scopes' as const,
    accessTokenType: client.id.includes('-jwt-') ? ('jwt' as const) : ('reference' as const),
  })),
  apiResources: [{ id: api, name: 'Orders', secret: secretOf(api), scopes: [apiScope], introspectionSignedResponseAlg: 'ES256' as const }],
};
