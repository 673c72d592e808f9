/** Seed of most tests: two tenants, a linked account, and one client of each kind. */
import type { IdentityProviderOptions } from 'tenant-idp';

export const redirectUri = 'http://127.0.0.1:9/callback';
export const postLogoutRedirectUri = 'http://127.0.0.1:9/signed-out';

const code = { redirect_uris: [redirectUri], post_logout_redirect_uris: [postLogoutRedirectUri] };
const identityScopes = ['openid', 'profile', 'email', 'phone', 'org', 'roles', 'perms', 'address'];

/** Settings for fast hashes. With production settings, hashing passwords would take most of the time of the tests. */
export const cheapPasswords = { scryptCost: 2 ** 6 };

export const testSeed = {
  permissions: [
    { id: 'orders.view', name: 'See orders' },
    { id: 'orders.approve', name: 'Approve orders' },
  ],
  tenants: [
    {
      name: 'Acme',
      organisationNumber: '910000001',
      groups: [{ name: 'Sales', permissions: ['orders.view', 'orders.approve'] }],
      persons: [
        {
          givenName: 'Alice',
          familyName: 'Adams',
          email: 'alice@acme.test',
          phoneNumber: '+4790000001',
          user: { userName: 'alice@acme.test', emailVerified: true, groups: ['Sales'], devPassword: 'alice' },
        },
        { givenName: 'Carol', familyName: 'Clark', email: 'carol@acme.test', user: { userName: 'carol@acme.test', devPassword: 'carol' } },
      ],
    },
    {
      name: 'Globex',
      persons: [
        {
          givenName: 'Alice',
          familyName: 'Adams',
          email: 'alice@globex.test',
          user: { userName: 'alice@globex.test', linkedTo: { userName: 'alice@acme.test', tenant: 'Acme' } },
        },
        {
          givenName: 'Bob',
          familyName: 'Brown',
          email: 'bob@globex.test',
          user: { userName: 'bob@globex.test', emailVerified: true, devPassword: 'bob' },
        },
      ],
    },
  ],
  clients: [
    {
      id: 'web',
      name: 'Web shop',
      secret: 'web-secret',
      metadata: { ...code, grant_types: ['authorization_code', 'refresh_token'] },
      allowedScopes: [...identityScopes, 'orders.read'],
    },
    {
      id: 'spa',
      name: 'Single page',
      metadata: { ...code, grant_types: ['authorization_code', 'refresh_token'], token_endpoint_auth_method: 'none' },
      allowedScopes: identityScopes,
    },
    {
      id: 'jwt',
      name: 'Reads JWTs',
      secret: 'jwt-secret',
      metadata: { ...code, grant_types: ['authorization_code', 'refresh_token'], id_token_signed_response_alg: 'ES256' },
      allowedScopes: [...identityScopes, 'orders.read'],
      accessTokenType: 'jwt',
      idTokenClaims: 'scopes',
    },
    {
      id: 'third-party',
      name: 'Third party',
      secret: 'third-secret',
      metadata: { ...code, grant_types: ['authorization_code', 'refresh_token'] },
      allowedScopes: identityScopes,
      requireConsent: true,
    },
    {
      id: 'pairwise',
      name: 'Pairwise',
      secret: 'pairwise-secret',
      metadata: { ...code, subject_type: 'pairwise' },
      allowedScopes: identityScopes,
    },
    {
      id: 'service',
      name: 'Service',
      secret: 'service-secret',
      metadata: { grant_types: ['client_credentials'] },
      allowedScopes: ['orders.read'],
    },
  ],
  apiResources: [
    { id: 'orders', name: 'Orders', secret: 'orders-secret', scopes: ['orders.read'] },
    { id: 'invoices', name: 'Invoices', secret: 'invoices-secret', scopes: ['invoices.read'] },
  ],
} satisfies IdentityProviderOptions['seed'];
