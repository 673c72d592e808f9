/**
 * Metadata of clients as people paste it. Other spellings of one meaning are read with a warning. An unneeded key is left out with a
 * warning. A set without a key that is needed is refused.
 */
import { generateKeyPairSync } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { ownMetadataNames } from '../../../lib/directory/index.js';
import { type AdminClient, administer, adminSeed, adminToken } from '../../support/administration/admin.js';

import type { Json } from '../../support/client/agent.js';
import { startIdp } from '../../support/service/idp.js';
import { useIdp } from '../../support/service/use-idp.js';

const service = useIdp({ seed: adminSeed });
let root: AdminClient;
beforeAll(async () => {
  root = administer(service.issuer, await adminToken(service.issuer, 'root'));
});

const rsaOf = (modulusLength: number) => generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' });
const good = { ...rsaOf(2048), kid: 'good' };
const ec = { ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }), kid: 'ec' };
const method = { token_endpoint_auth_method: 'private_key_jwt' };
const unusable: readonly (readonly [name: string, key: unknown])[] = [
  ['a type that is unknown', { kty: 'LMS', kid: 'x' }],
  ['no type', { kid: 'x', n: good.n, e: good.e }],
  ['an RSA key without exponent', { kty: 'RSA', n: good.n }],
  ['an RSA key of 1024 bits', rsaOf(1024)],
  ['a point that is not on the curve', { ...ec, x: ec.y, y: ec.x }],
  ['a curve that is unknown', { ...ec, crv: 'P-257' }],
  ['a kid that is a number', { ...good, kid: 5 }],
  ['a text', 'key'],
  ['null', null],
];
let count = 0;
const create = (metadata: object) => root.post('/clients', { id: `keys-${count++}`, name: 'Keys', metadata });
const member = (body: unknown, name: string) => (body as Json)[name];

describe('a key that nothing needs is left out with a warning:', () => {
  test.each(unusable)('%s', async (_, key) => {
    const warnings = [{ path: '/metadata/jwks/keys/0', reason: expect.stringContaining('left out') }];
    const metadata = { ...method, jwks: { keys: [key, good] } };
    const kept = { ...method, jwks: { keys: [good] } };
    const made = await create(metadata);
    expect(made).toMatchObject({ status: 201, json: { metadata: kept, warnings } });
    const path = `/clients/${member(made.json, 'id')}`;
    const read = await root(path);
    expect(read.json).toMatchObject({ metadata: kept });
    expect(read.json).not.toHaveProperty('warnings');
    expect(await root.patch(path, { metadata: { jwks: metadata.jwks } })).toMatchObject({
      status: 200,
      json: { metadata: kept, warnings },
    });
  });

  test('and a set that is right has no warnings', async () => {
    const { json: body } = await create({ ...method, jwks: { keys: [good, ec] } });
    expect(body).toMatchObject({ metadata: { jwks: { keys: [good, ec] } } });
    expect(body).not.toHaveProperty('warnings');
  });
});

describe('is refused at the key that cannot be used:', () => {
  const enc = { id_token_encrypted_response_alg: 'RSA-OAEP', id_token_encrypted_response_enc: 'A128CBC-HS256' };
  test.each<[string, object, unknown[], RegExp]>([
    ['a set without another key', {}, [], /no usable key is left/],
    ['private_key_jwt without a key', method, [], /token_endpoint_auth_method/],
    ['private_key_jwt with a key for encryption alone', method, [{ ...good, use: 'enc' }], /token_endpoint_auth_method/],
    ['private_key_jwt with a key of another algorithm', { ...method, token_endpoint_auth_signing_alg: 'RS256' }, [ec], /signing_alg/],
    ['encryption with a key for signatures alone', enc, [{ ...good, use: 'sig' }], /id_token_encrypted_response_alg/],
    ['encryption with a key of another type', enc, [ec], /id_token_encrypted_response_alg/],
  ])('%s', async (_, metadata, others, reason) => {
    const path = '/metadata/jwks/keys/0';
    const answer = await create({ ...metadata, jwks: { keys: [{ kty: 'RSA' }, ...others] } });
    expect(answer).toMatchObject({ status: 422, json: { errors: [{ pointer: path, expected: expect.stringMatching(reason) }] } });
  });

  test.each(['d', 'k', 'priv'])('a key with the secret member %s stays refused, beside a right one', async (secret) => {
    const answer = await create({ jwks: { keys: [{ ...(secret === 'k' ? { kty: 'oct' } : ec), [secret]: 'AQAB' }, good] } });
    expect([secret, answer.status]).toEqual([secret, 422]);
  });
});

test('a change of another member leaves the set and its warnings alone', async () => {
  const { json: body } = await create({ jwks: { keys: [good] } });
  const changed = await root.patch(`/clients/${member(body, 'id')}`, { metadata: { contacts: ['a@b.test'] } });
  expect(changed).toMatchObject({ status: 200, json: { metadata: { jwks: { keys: [good] } } } });
  expect(changed.json).not.toHaveProperty('warnings');
});

test('the ETag of an answer with a secret or warnings is the one of the record', async () => {
  const made = await create({ redirectUris: ['https://rp.test/cb'], jwks: { keys: [null, good] } });
  expect(made.json).toMatchObject({ secret: expect.any(String), warnings: [{}, {}] });
  const path = `/clients/${member(made.json, 'id')}`;
  expect(made.headers.get('etag')).toBe((await root(path)).headers.get('etag'));
  const changed = await root.patch(
    path,
    { metadata: { grantTypes: ['refresh_token', 'authorization_code'] } },
    { 'if-match': made.headers.get('etag') ?? '' },
  );
  expect(changed).toMatchObject({ status: 200, json: { warnings: [{ path: '/metadata/grantTypes' }] } });
  expect(changed.headers.get('etag')).toBe((await root(path)).headers.get('etag'));
});

describe('a spelling with one meaning is read with a warning:', () => {
  const uri = 'https://rp.test/cb';
  test.each<[string, Json, Json, string, string]>([
    ['redirectUris', { redirectUris: [uri] }, { redirect_uris: [uri] }, '/metadata/redirectUris', 'It is read as redirect_uris.'],
    ['redirect_urls', { redirect_urls: [uri] }, { redirect_uris: [uri] }, '/metadata/redirect_urls', 'It is read as redirect_uris.'],
    [
      'one text for a list',
      { redirect_uris: uri },
      { redirect_uris: [uri] },
      '/metadata/redirect_uris',
      'It is read as a list with one element.',
    ],
    [
      'white space around a URI',
      { redirect_uris: [` ${uri}\n`] },
      { redirect_uris: [uri] },
      '/metadata/redirect_uris/0',
      'White space around it is left out.',
    ],
    [
      'GRANT_TYPES',
      { redirect_uris: [uri], grant_types: ['AUTHORIZATION_CODE', 'refreshToken'] },
      { grant_types: ['authorization_code', 'refresh_token'] },
      '/metadata/grant_types/0',
      'It is read as authorization_code.',
    ],
    [
      'CODE',
      { redirect_uris: [uri], response_types: ['CODE'] },
      { response_types: ['code'] },
      '/metadata/response_types/0',
      'It is read as code.',
    ],
    [
      'client-secret-post',
      { token_endpoint_auth_method: 'client-secret-post' },
      { token_endpoint_auth_method: 'client_secret_post' },
      '/metadata/token_endpoint_auth_method',
      'It is read as client_secret_post.',
    ],
    [
      'rs256',
      { id_token_signed_response_alg: 'rs256' },
      { id_token_signed_response_alg: 'RS256' },
      '/metadata/id_token_signed_response_alg',
      'It is read as RS256.',
    ],
    [
      'scope as a list',
      { scope: ['openid', 'email'] },
      { scope: 'openid email' },
      '/metadata/scope',
      'The list is read as one string, with a space between scopes.',
    ],
  ])('%s', async (_, written, metadata, path, reason) => {
    const made = await create(written);
    expect(made).toMatchObject({ status: 201, json: { metadata: { ...metadata } } });
    expect(member(made.json, 'warnings')).toContainEqual({ path, reason });
    const changed = await root.patch(`/clients/${member(made.json, 'id')}`, { metadata: written });
    expect(changed).toMatchObject({ status: 200, json: { metadata: { ...metadata } } });
    expect(member(changed.json, 'warnings')).toContainEqual({ path, reason });
  });

  test('every registered name, as camelCase, with hyphens and in capitals, by the rule that all documents go through', async () => {
    const spellings = [
      (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      (name: string) => name.replaceAll('_', '-'),
      (name: string) => name.toUpperCase(),
    ];
    for (const name of ownMetadataNames.filter((each) => !/^client_(?:id|name|secret)$/.test(each)))
      for (const spelled of spellings.map((spell) => spell(name)).filter((each) => each !== name)) {
        const { metadata, warnings } = service.idp.directory.clients.understood({ [spelled]: 5 });
        expect([spelled, metadata, warnings]).toEqual([
          spelled,
          { [name]: 5 },
          [{ path: `/metadata/${spelled}`, reason: `It is read as ${name}.` }],
        ]);
      }
  });

  test("two spellings in one document, the record's own members and unknown names stay refused, with the name that is meant", async () => {
    expect(await create({ redirectUris: [uri], redirect_uris: [uri] })).toMatchObject({
      status: 422,
      json: { errors: [{ pointer: '/metadata/redirectUris', didYouMean: 'redirect_uris' }] },
    });
    expect(await create({ clientSecret: 'x' })).toMatchObject({
      status: 422,
      json: { errors: [{ pointer: '/metadata/clientSecret', expected: expect.stringContaining('secret is hashed') }] },
    });
    expect(await create({ redirect_uri: uri })).toMatchObject({
      status: 422,
      json: { errors: [{ pointer: '/metadata/redirect_uri', didYouMean: 'redirect_uris' }] },
    });
  });

  test('null in a patch takes the member away, in each spelling', async () => {
    const made = await create({ logo_uri: 'https://rp.test/logo' });
    const changed = await root.patch(`/clients/${member(made.json, 'id')}`, { metadata: { logoUri: null } });
    expect(member(changed.json, 'metadata')).toEqual({});
  });
});

describe('a seed', () => {
  const seeded = useIdp({
    seed: {
      ...adminSeed,
      clients: [
        ...(adminSeed.clients ?? []),
        {
          id: 'pasted',
          name: 'Pasted',
          metadata: { ...method, redirectUris: 'https://rp.test/cb', jwks: { keys: [{ kty: 'RSA' }, good] } },
        },
      ],
    },
  });

  test('is read in the same way, and the log has the paths', async () => {
    expect((await seeded.idp.directory.clients.require('pasted')).metadata).toEqual({
      ...method,
      redirect_uris: ['https://rp.test/cb'],
      jwks: { keys: [good] },
    });
    const line = seeded.lines.find(({ message }) =>
      message.startsWith('the service ignored or reinterpreted parts of client metadata in the seed'),
    );
    expect(line?.fields).toMatchObject({
      warnings: [
        { path: expect.stringMatching(/^seed\.clients\[\d+\]\.metadata\.redirectUris$/) },
        {},
        { path: expect.stringMatching(/\.metadata\.jwks\.keys\[0\]$/) },
      ],
    });
  });

  test('without the key that is needed is refused with its path', async () => {
    const metadata = { ...method, redirect_uris: ['https://rp.test/cb'], jwks: { keys: [{ kty: 'RSA' }, { ...good, use: 'enc' }] } };
    const refused = startIdp({ seed: { clients: [{ id: 'pasted', name: 'Pasted', metadata }] } });
    await expect(refused).rejects.toMatchObject({ problems: [{ path: 'seed.clients[0].metadata.jwks.keys[0]' }] });
  });
});
