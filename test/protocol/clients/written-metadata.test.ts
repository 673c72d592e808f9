/** T3-MD-OTHER, T3-MD-USERINFO: metadata that no endpoint serves is refused when it is written, at its member. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { ConfigError, createIdentityProvider } from 'tenant-idp';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import type { Row } from '../../../lib/store/directory-store.js';
import { collections } from '../../../lib/store/records/collections.js';
import { type AdminClient, administer, adminSeed, adminToken } from '../../support/administration/admin.js';
import { Agent, authorizeUrl, type Json } from '../../support/client/agent.js';
import { redirectUri } from '../../support/service/seed.js';
import { silentLogger } from '../../support/service/test-directory.js';
import { useIdp } from '../../support/service/use-idp.js';

const directory = memoryDirectory();
const service = useIdp({ directory, seed: adminSeed, keys: { encryption: ['what the keys are encrypted with in this test'] } });
let root: AdminClient;
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
});

const code = { redirect_uris: [redirectUri] };
const rsa = { kty: 'RSA', e: 'AQAB', n: 'AQAB' };

/** Invalid metadata: one value for each kind of mistake, with the member that the error names. */
const wrong: readonly (readonly [member: string, metadata: object])[] = [
  ...[
    'id_token_signed_response_alg',
    'userinfo_signed_response_alg',
    'authorization_signed_response_alg',
    'request_object_signing_alg',
  ].flatMap((member) => ['none', 'HS256', 'RS257', '', 5].map((alg) => [member, { [member]: alg }] as const)),
  ['introspection_signed_response_alg', { introspection_signed_response_alg: 'HS256' }],
  ['token_endpoint_auth_method', { token_endpoint_auth_method: 'client_secret_jwt' }],
  ['token_endpoint_auth_method', { token_endpoint_auth_method: 'tls_client_auth', tls_client_auth_subject_dn: 'CN=x' }],
  [
    'token_endpoint_auth_signing_alg',
    { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [] }, token_endpoint_auth_signing_alg: 'HS256' },
  ],
  ['grant_types', { grant_types: ['password'] }],
  ['grant_types', { grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:saml2-bearer'] }],
  ['response_types', { response_types: ['code foo'] }],
  ['response_modes', { response_modes: ['web_message'] }],
  ['subject_type', { subject_type: 'ephemeral' }],
  ['application_type', { application_type: 'service' }],
  ['default_max_age', { default_max_age: -1 }],
  ['default_max_age', { default_max_age: 1.5 }],
  ['require_auth_time', { require_auth_time: 'yes' }],
  ['require_pushed_authorization_requests', { require_pushed_authorization_requests: 1 }],
  ['contacts', { contacts: ['nobody'] }],
  ['default_acr_values', { default_acr_values: ['gold'] }],
  ['jwks', { jwks: { keys: [{ ...rsa, d: 'AQAB' }] } }],
  ['jwks', { jwks: { keys: [{ kty: 'oct', k: 'AQAB' }] } }],
  ['jwks', { jwks: 'keys' }],
  ['jwks', { jwks: { keys: [] }, jwks_uri: 'https://a.test/jwks' }],
  ['jwks_uri', { jwks_uri: 'ftp://a.test/jwks' }],
  ['jwks', { token_endpoint_auth_method: 'private_key_jwt' }],
  ...[
    'javascript:alert(1)',
    'http://localhost/start',
    'http://a.test/start',
    'https:',
    'nothing',
    'https://user@a.test/',
    'https://*.a.test/',
  ].map((uri) => ['initiate_login_uri', { initiate_login_uri: uri }] as const),
  ['sector_identifier_uri', { sector_identifier_uri: 'http://a.test/' }],
  ['sector_identifier_uri', { subject_type: 'pairwise', redirect_uris: ['https://a.test/', 'https://b.test/'] }],
  ['scope', { scope: 'nothing-of-this-name' }],
  ['client_uri', { client_uri: 'https://user@a.test/' }],
  ['logo_uri', { logo_uri: 'https://a;b/x.png' }],
  ['backchannel_logout_uri', { backchannel_logout_uri: 'https://user:word@a.test/' }],
  ['frontchannel_logout_uri', { frontchannel_logout_uri: 'http://127.0.0.1:9/#x' }],
  ...['redirect_uris', 'post_logout_redirect_uris'].flatMap((member) =>
    [
      'https://user@a.test/',
      'https://user:word@a.test/',
      'https://@a.test/',
      'https://*.a.test/',
      'https://a.*/',
      'https:\\\\a.test/',
      'https://a.test\\@b.test/',
      'https://a.test/x\\y',
      'https://a.test/x y',
      'https://a;b/',
      'https:a/cb',
      'https:/a.test/cb',
    ].map((uri) => [`${member}/0`, { ...code, [member]: [uri] }] as const),
  ),
  ...[
    ...['com.example.app://*.x/cb', 'com.example.app://user@x/cb', 'com.example.app:/a\\b'],
    // RFC 8252 §7.1, §8.4: a scheme without a full stop means something to browsers, or may do so.
    ...['view-source:https://a.test/cb', 'mailto:a@b.test', 'about:blank', 'javascript:alert(1)', 'intent://a/#Intent;end', 'app:/cb'],
    ...['blob:https://a.test/x', 'filesystem:https://a.test/x', 'ws://a.test/cb', 'https:a/cb', 'https:/a/cb', 'http:127.0.0.1/cb'],
  ].map((uri) => ['redirect_uris/0', { application_type: 'native', redirect_uris: [uri] }] as const),
];

const pointers = ({ json }: { readonly json: Json }): string[] => (json?.errors ?? []).map(({ pointer }: Json) => pointer);

describe('the admin API', () => {
  test.each(wrong)(
    'refuses %s of %j in a new client and in a change, with problem details that name the member',
    async (member, metadata) => {
      const made = await root.post('/clients', { id: 'new-client', name: 'New', metadata: { ...code, ...metadata } });
      expect([made.status, made.json.code, pointers(made)]).toEqual([
        422,
        'invalid_record',
        expect.arrayContaining([`/metadata/${member}`]),
      ]);
      const changed = await root.patch('/clients/web', { metadata });
      expect([changed.status, pointers(changed)]).toEqual([422, expect.arrayContaining([`/metadata/${member}`])]);
    },
  );

  test('takes what is served', async () => {
    const right = [
      { ...code, id_token_signed_response_alg: 'ES256', initiate_login_uri: 'https://a.test/start', default_max_age: 0 },
      { application_type: 'native', redirect_uris: ['com.example.app:/cb', 'com.example.app://callback/x', 'http://127.0.0.1/cb'] },
      { ...code, redirect_uris: ['https://xn--bcher-kva.example/cb', 'https://[2001:db8::1]:8443/cb;x?y=*'] },
      { ...code, token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [] }, token_endpoint_auth_signing_alg: 'ES256' },
      { grant_types: ['client_credentials'] },
    ];
    for (const [index, metadata] of right.entries())
      expect(await root.post('/clients', { id: `right-${index}`, name: 'Right', metadata })).toMatchObject({ status: 201 });
  });
});

describe('origins', () => {
  const bad = [
    '*',
    'null',
    '',
    'https://a.test/',
    'https://a.test:443',
    'https://A.test',
    'https://*.a.test',
    'https://u@a.test',
    'a.test',
  ];
  test.each([...bad, 'https://a.test\r\nX: y', 'file://', 'data://x', 'javascript://x', 'about://x', 'https://a.test, https://b.test'])(
    'T3-MD-OTHER: refuses %j as an origin',
    async (origin) => {
      const answer = await root.patch('/clients/spa', { corsOrigins: ['https://fine.test', origin] });
      expect([answer.status, pointers(answer)]).toEqual([422, ['/corsOrigins/1']]);
    },
  );

  test.each([
    'https://a.test',
    'http://localhost:8100',
    'http://[::1]:3000',
    'capacitor://localhost',
    'ionic://localhost',
    'chrome-extension://abcdef',
  ])('takes %j, and lets it read answers', async (origin) => {
    expect((await root.patch('/clients/spa', { corsOrigins: [origin] })).status).toBe(200);
    const answer = await fetch(`${service.issuer}/connect/token`, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ client_id: 'spa', grant_type: 'refresh_token', refresh_token: 'x' }),
    });
    expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
  });
});

describe('a stored client that breaks a rule', () => {
  const stored = { ...code, id_token_signed_response_alg: 'none', default_max_age: -1, redirect_uris: [redirectUri, 'https://*.a.test/'] };
  beforeAll(async () => {
    await directory.collection<Row>('clients').update('third-party', (row) => ({ ...row, metadata: stored, corsOrigins: ['*'] }));
    await directory.collection<Row>('clients').update('jwt', (row) => ({ ...row, metadata: stored, corsOrigins: ['*'] }));
  });

  test('can be read, stops no other client, and no change of another member', async () => {
    expect((await root('/clients/third-party')).status).toBe(200);
    for (const patch of [
      { name: 'Another name' },
      { metadata: { client_uri: 'https://a.test/' } },
      { requireConsent: true },
      { metadata: { policy_uri: 'https://a.test/policy' }, allowPlainPkce: true },
    ])
      expect(await root.patch('/clients/third-party', patch)).toMatchObject({ status: 200 });
    const page = await new Agent().get(authorizeUrl(service.issuer, { nonce: 'n' }));
    expect(page.status).toBe(303);
  });

  test.each([
    ['/metadata/id_token_signed_response_alg', { metadata: { id_token_signed_response_alg: 'HS256' } }],
    ['/metadata/default_max_age', { metadata: { default_max_age: -2 } }],
    ['/metadata/redirect_uris/1', { metadata: { redirect_uris: [redirectUri, 'https://*.a.test/', 'https://b.test/'] } }],
    ['/metadata/userinfo_signed_response_alg', { metadata: { userinfo_signed_response_alg: 'none' } }],
    [
      '/metadata/redirect_uris',
      { metadata: { response_types: ['id_token'], grant_types: ['implicit'], redirect_uris: ['http://b.test/'] } },
    ],
    ['/corsOrigins/0', { corsOrigins: ['*', 'https://a.test'] }],
  ])('has what a change writes judged, however wrong the rest is: %s', async (pointer, patch) => {
    const answer = await root.patch('/clients/jwt', patch);
    expect([answer.status, pointers(answer).some((each) => each.startsWith(pointer))]).toEqual([422, true]);
    for (const other of pointers(answer))
      expect(Object.keys((patch as Json).metadata ?? patch)).toContain(other.split('/').at(other.startsWith('/metadata') ? 2 : 1));
  });

  test('is mended member by member', async () => {
    expect((await root.patch('/clients/jwt', { metadata: { id_token_signed_response_alg: 'ES256' } })).status).toBe(200);
    expect((await root.patch('/clients/jwt', { metadata: { default_max_age: null } })).status).toBe(200);
    expect((await root.patch('/clients/jwt', { metadata: { redirect_uris: [redirectUri] } })).status).toBe(200);
    const { location } = await new Agent().get(authorizeUrl(service.issuer, { client_id: 'jwt', nonce: 'n' }));
    expect(location).toContain('/idp/interaction/');
  });
});

describe('a seed', () => {
  const start = (store: ReturnType<typeof memoryDirectory>, clients: readonly object[]) =>
    createIdentityProvider({
      issuer: 'http://localhost:3000',
      directory: store,
      keys: { encryption: ['what the keys are encrypted with in this test'] },
      seed: { clients: clients.map((client) => ({ name: 'A client', secret: 'secret', ...client })) } as never,
      logger: silentLogger,
    });
  test.each([
    ['id_token_signed_response_alg', { id_token_signed_response_alg: 'none' }],
    ['grant_types', { grant_types: ['password'] }],
    ['redirect_uris[0]', { redirect_uris: ['https://*.a.test/'] }],
    ['initiate_login_uri', { initiate_login_uri: 'javascript:alert(1)' }],
    ['jwks', { jwks: { keys: [{ kty: 'oct', k: 'AQAB' }] } }],
  ])('stops the start with the path of %s, and writes no record', async (member, metadata) => {
    const store = memoryDirectory();
    const error = await start(store, [{ id: 'one' }, { id: 'two', metadata: { ...code, ...metadata } }]).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({ code: 'invalid_options', problems: [{ path: `seed.clients[1].metadata.${member}` }] });
    await store.open(Object.values(collections));
    expect(await store.collection('clients').find({})).toEqual([]);
  });

  test('with an origin that is none stops it as well', async () => {
    await expect(start(memoryDirectory(), [{ id: 'one', corsOrigins: ['null'] }])).rejects.toMatchObject({
      problems: [{ path: 'seed.clients[0].corsOrigins[0]' }],
    });
  });
});
