/** Addresses of private networks: production refuses each spelling when it is written, and accepts names. */
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createIdentityProvider, type IdentityProvider } from 'tenant-idp';
import { saml } from 'tenant-idp/extensions/saml';
import { createFetchProblem } from '../../lib/fetch/fetch-rules.js';
import type { Row } from '../../lib/store/directory-store.js';
import { type AdminClient, adminClient, administer, adminToken } from '../support/administration/admin.js';
import type { Json } from '../support/client/agent.js';
import { lastingOptions } from '../support/service/idp.js';
import { silentLogger } from '../support/service/test-directory.js';

/** Returns spellings of an IPv4 address that the parser of URLs accepts. */
function spellings(address: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const number = ((a * 256 + b) * 256 + c) * 256 + d;
  const hex = (part: number) => part.toString(16);
  return [
    address,
    `${address}.`,
    String(number),
    `0x${hex(number)}`,
    [a, b, c, d].map((part) => `0${part.toString(8)}`).join('.'),
    [a, b, c, d].map((part) => `0x${hex(part)}`).join('.'),
    `${a}.${b}.${c * 256 + d}`,
    `${a}.${(b * 256 + c) * 256 + d}`,
    `[::ffff:${address}]`,
    `[::ffff:${hex(a * 256 + b)}:${hex(c * 256 + d)}]`,
    `[::${address}]`,
    `[64:ff9b::${address}]`,
    `[2002:${hex(a * 256 + b)}:${hex(c * 256 + d)}::1]`,
  ];
}

const refusedV4 = [
  '127.0.0.1',
  '10.1.2.3',
  '172.16.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '0.0.0.0',
  '198.18.0.1',
  '224.0.0.1',
];
const refusedV6 = ['[::1]', '[::]', '[fe80::1]', '[fd00::1]', '[fec0::1]', '[ff02::1]', '[2001:db8::1]', '[fd00:ec2::254]'];
const refused = [...refusedV4.flatMap(spellings), ...refusedV6];
const taken = ['8.8.8.8', '[2606:4700:4700::1111]', 'localhost', 'internal.example', 'app', '10.1.2.3.example', '10.20.30.40:8443'];

test.each(refused)('T3: %s is an address outside the Internet in production', (host) => {
  const problemIn = (production: boolean) => createFetchProblem({ allowHosts: ['10.20.30.40:8443'], production });
  expect(problemIn(true)(`https://${host}/x`)).toEqual(expect.stringContaining('outgoing.allowHosts'));
  expect(problemIn(true)(`https://${host}:8443/x`)).toEqual(expect.stringContaining('outgoing.allowHosts'));
  expect(problemIn(false)(`https://${host}/x`)).toBeUndefined();
});
test.each(taken)('%s may be called', (host) => {
  expect(createFetchProblem({ allowHosts: ['10.20.30.40:8443'], production: true })(`https://${host}/x`)).toBeUndefined();
});

describe('what administrators write in production', () => {
  const before = process.env.NODE_ENV;
  const options = lastingOptions();
  const secret = 'root-secret'.padEnd(32, '-');
  const samlScopes = ['idp.saml-service-providers:read', 'idp.saml-service-providers:write'];
  const seeded = adminClient('root', ['*']);
  const ping = { grant_types: ['urn:openid:params:grant-type:ciba'], response_types: [], backchannel_token_delivery_mode: 'ping' };
  let idp: IdentityProvider;
  let root: AdminClient;
  let tid: string;
  const code = { redirect_uris: ['https://app.example/cb'] };
  const client = (metadata: (url: string) => object) => (url: string) => ({
    id: `client-${Math.random()}`,
    name: 'A client',
    metadata: { ...code, ...metadata(url) },
  });
  const connection = (url: string) => ({ name: 'Up', issuer: url, clientId: 'c', clientSecret: 's' });

  /** Every member that holds a URL which the service calls. */
  const members: readonly (readonly [pointer: string, path: string, body: (url: string) => object])[] = [
    ['/metadata/jwks_uri', '/clients', client((url) => ({ jwks_uri: url }))],
    ['/metadata/backchannel_logout_uri', '/clients', client((url) => ({ backchannel_logout_uri: url }))],
    ['/metadata/sector_identifier_uri', '/clients', client((url) => ({ sector_identifier_uri: url }))],
    ['/metadata/request_uris/1', '/clients', client((url) => ({ request_uris: ['https://app.example/r', url] }))],
    [
      '/metadata/backchannel_client_notification_endpoint',
      '/clients',
      client((url) => ({ ...ping, redirect_uris: [], backchannel_client_notification_endpoint: url })),
    ],
    ['/url', '/webhooks', (url) => ({ url })],
    ['/url', '/tenants/{tid}/webhooks', (url) => ({ url })],
    ['/issuer', '/connections', connection],
    ['/issuer', '/tenants/{tid}/connections', connection],
    ['/metadataUrl', '/saml-service-providers', (url) => ({ name: 'SP', metadataUrl: url })],
  ];

  beforeAll(async () => {
    process.env.NODE_ENV = 'production';
    idp = await createIdentityProvider({
      ...options,
      extensions: [saml()],
      outgoing: { allowHosts: ['10.20.30.40'] },
      limits: { adminRequestsPerMinute: 100_000 },
      seed: {
        permissions: [...seeded.allowedScopes, ...samlScopes].map((id) => ({ id, name: id })),
        tenants: [{ name: 'Acme' }],
        clients: [{ ...seeded, secret, allowedScopes: [...seeded.allowedScopes, ...samlScopes] }],
      },
      logger: silentLogger,
    });
    const server = await idp.listen(0, '127.0.0.1');
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    root = administer(origin, await adminToken(origin, 'root', [...seeded.allowedScopes, ...samlScopes].join(' '), secret));
    tid = (await idp.directory.tenants.find())[0]?.id ?? '';
  });
  afterAll(async () => {
    if (before === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = before;
    await idp?.close();
  });
  const post = (path: string, body: object) => root.post(path.replace('{tid}', tid), body);
  const pointersOf = ({ json }: { readonly json: Json }): unknown[] => (json?.errors ?? []).map(({ pointer }: Json) => pointer);

  test.each(members)('%s of %s takes none of the addresses', async (pointer, path, body) => {
    for (const host of ['169.254.169.254', '2130706433', '0x7f.1', '[::ffff:10.0.0.1]', '[fe80::1]', '192.168.0.1:8443']) {
      const answer = await post(path, body(`https://${host}/x`));
      expect([host, answer.status, pointersOf(answer)]).toEqual([host, 422, expect.arrayContaining([pointer])]);
    }
  });

  test.each(members)('%s of %s takes names, public addresses and hosts of outgoing.allowHosts', async (pointer, path, body) => {
    for (const host of ['internal.example', 'localhost', '8.8.8.8', '10.20.30.40']) {
      // The service reads SAML metadata immediately. Only `localhost` is tried, which has none.
      if (path === '/saml-service-providers' && host !== 'localhost') continue;
      const answer = await post(path, body(`https://${host}/x`));
      expect([host, pointer, answer.json.code ?? answer.status]).toEqual([
        host,
        pointer,
        path === '/saml-service-providers' ? 'metadata_unavailable' : 201,
      ]);
    }
  });

  test('a stored one stops no change of another member', async () => {
    const { json } = await post('/clients', client((url) => ({ jwks_uri: url }))('https://app.example/jwks'));
    await options.directory
      .collection<Row>('clients')
      .update(json.id, (row) => ({ ...row, metadata: { ...code, jwks_uri: 'https://10.0.0.1/' } }));
    expect((await root.patch(`/clients/${json.id}`, { name: 'Another' })).status).toBe(200);
    expect((await root.patch(`/clients/${json.id}`, { metadata: { client_uri: 'https://app.example/' } })).status).toBe(200);
    expect(pointersOf(await root.patch(`/clients/${json.id}`, { metadata: { jwks_uri: 'https://10.0.0.2/' } }))).toEqual([
      '/metadata/jwks_uri',
    ]);
  });
});
