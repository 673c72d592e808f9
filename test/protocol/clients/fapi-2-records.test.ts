/** `fapi: '2.0'` and records that contradict it: refused when they are written, and at use if the row is older. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { memoryDirectory } from '../../../adapters/memory/index.js';
import { Agent, basic, postForm, signIn } from '../../support/client/agent.js';
import { createAssertingClient } from '../../support/client/assertions.js';
import { fapiCalls, fapiRecord, fapiRequest } from '../../support/client/fapi-client.js';
import { startIdp } from '../../support/service/idp.js';
import { testKeys } from '../../support/service/keys.js';
import { redirectUri, testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';

interface Contradiction {
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly [member: string]: unknown;
}

/** Members that the profile refuses, by the path of the problem. */
const contradictions: Readonly<Record<string, Contradiction>> = {
  '/metadata/token_endpoint_auth_method': { metadata: { token_endpoint_auth_method: 'client_secret_basic' } },
  '/metadata/token_endpoint_auth_method ': {
    metadata: { token_endpoint_auth_method: 'none', grant_types: ['authorization_code', 'refresh_token'] },
  },
  '/metadata/require_pushed_authorization_requests': { metadata: { require_pushed_authorization_requests: false } },
  '/metadata/dpop_bound_access_tokens': { metadata: { dpop_bound_access_tokens: false } },
  '/metadata/response_types': {
    metadata: {
      response_types: ['code', 'code id_token'],
      grant_types: ['authorization_code', 'implicit'],
      redirect_uris: ['https://rp.test/cb'],
    },
  },
  '/metadata/grant_types': { metadata: { grant_types: ['authorization_code', 'implicit'], redirect_uris: ['https://rp.test/cb'] } },
  '/metadata/redirect_uris': { metadata: { redirect_uris: ['http://rp.test/cb'] } },
  '/metadata/id_token_signed_response_alg': { metadata: { id_token_signed_response_alg: 'RS256' } },
  '/metadata/authorization_signed_response_alg': { metadata: { authorization_signed_response_alg: 'RS256' } },
  '/metadata/introspection_signed_response_alg': { metadata: { introspection_signed_response_alg: 'RS256' } },
  '/metadata/request_object_signing_alg': { metadata: { request_object_signing_alg: 'RS256' } },
  '/metadata/backchannel_authentication_request_signing_alg': {
    metadata: { backchannel_authentication_request_signing_alg: 'RS256' },
  },
  '/metadata/token_endpoint_auth_signing_alg': { metadata: { token_endpoint_auth_signing_alg: 'RS256' } },
  '/requirePkce': { requirePkce: false },
  '/allowPlainPkce': { allowPlainPkce: true },
};
const paths = Object.keys(contradictions);
const idOf = (path: string): string => `old-${paths.indexOf(path)}`;
const clients = Object.fromEntries(await Promise.all(paths.map(async (path) => [path, await createAssertingClient(idOf(path))] as const)));
const recordOf = async (path: string) => {
  const { metadata, ...more } = contradictions[path] as Contradiction;
  return {
    ...(await fapiRecord(clients[path] as never, metadata)),
    ...more,
    ...(metadata?.token_endpoint_auth_method === 'client_secret_basic' ? { secret: 'secret-of-the-old-client' } : {}),
  };
};
const good = await createAssertingClient('good');
const goodRecord = await fapiRecord(good);
const allRecords = await Promise.all(paths.map(recordOf));
const problem = (path: string) => ({
  code: 'invalid_record',
  details: expect.objectContaining({ problems: expect.arrayContaining([expect.objectContaining({ path: path.trim() })]) }),
});

describe.each([
  ['of a client', {}, { fapi: '2.0' as const }],
  ['of all', { fapi: '2.0' as const, seed: { ...testSeed, clients: [] } }, {}],
])("a record that contradicts fapi: '2.0' %s", (_, options, member) => {
  const service = useIdp(options);

  test.each(paths)('is refused at %s when it is made and when it is changed', async (path) => {
    const { clients: directory } = service.idp.directory;
    const { id, secret: _secret, ...record } = (await recordOf(path)) as Awaited<ReturnType<typeof recordOf>> & { secret?: string };
    await expect(directory.create({ ...record, id, ...member } as never)).rejects.toMatchObject(problem(path));
    const free = `${id}-free`;
    await directory.create({ ...(await fapiRecord(good)), id: free, ...member });
    await expect(directory.update(free, { ...record, ...member } as never)).rejects.toMatchObject(problem(path));
    const { metadata } = await directory.require(free);
    const { metadata: written, ...more } = contradictions[path] as Contradiction;
    await expect(directory.update(free, { ...more, metadata: { ...metadata, ...written } })).rejects.toMatchObject(problem(path));
  });
});

test('a client gets the profile by one member, or keeps every other one; it loses the profile by null', async () => {
  const service = await startIdp({ seed: { ...testSeed, clients: [...testSeed.clients, goodRecord] } });
  try {
    const { clients: directory } = service.idp.directory;
    await expect(directory.update('web', { fapi: '2.0' })).rejects.toMatchObject(problem('/metadata/token_endpoint_auth_method'));
    expect((await directory.update('good', { fapi: '2.0' })).fapi).toBe('2.0');
    expect((await directory.update('good', { fapi: null })).fapi).toBeUndefined();
    for (const fapi of ['1.0 Final', '2', 2, true, ''])
      await expect(directory.update('good', { fapi } as never)).rejects.toMatchObject({
        code: 'invalid_record',
        details: { path: '/fapi', expected: "'2.0'" },
      });
  } finally {
    await service.close();
  }
});

test('FAPI 2.0 of all: an API resource that wants RS256 is refused when it is written, and in a seed with its path', async () => {
  const service = await startIdp({ fapi: '2.0', seed: { ...testSeed, clients: [] } });
  try {
    const { apiResources } = service.idp.directory;
    const wanting = { introspectionSignedResponseAlg: 'RS256' as const };
    const refused = { code: 'invalid_record', details: { path: '/introspectionSignedResponseAlg' } };
    await expect(apiResources.create({ id: 'late', name: 'Late', scopes: [], ...wanting })).rejects.toMatchObject(refused);
    await expect(apiResources.update('orders', wanting)).rejects.toMatchObject(refused);
    expect(await apiResources.update('orders', { introspectionSignedResponseAlg: 'ES256' })).toMatchObject({ id: 'orders' });
  } finally {
    await service.close();
  }
  const [orders, ...others] = testSeed.apiResources;
  const seed = {
    ...testSeed,
    clients: [goodRecord, ...testSeed.clients.filter(({ id }) => id === 'web')],
    apiResources: [{ ...orders, introspectionSignedResponseAlg: 'RS256' as const }, ...others],
  };
  await expect(startIdp({ fapi: '2.0', seed: seed as never })).rejects.toMatchObject({
    code: 'invalid_options',
    problems: [{ path: 'seed.apiResources[0].introspectionSignedResponseAlg' }],
  });
  await expect(startIdp({ fapi: '2.0', seed: { ...seed, apiResources: testSeed.apiResources } as never })).rejects.toMatchObject({
    code: 'invalid_options',
    problems: [{ path: 'seed.clients[1].metadata.token_endpoint_auth_method' }],
  });
});

test.each([
  ['features.dPoP.enabled', { features: { dPoP: { enabled: false } } }],
  ['features.fapi.enabled', { features: { fapi: { enabled: true, profile: '1.0 Final' } } }],
  ['keys.signing', { keys: { signing: testKeys.filter(({ kty }) => kty === 'RSA') } }],
  ['fapi', { fapi: '1.0 Final' }],
  ['features.fapi.profile', { fapi: undefined, features: { fapi: { enabled: true, profile: '2.0' } } }],
])('FAPI 2.0 of all: an option that contradicts it is refused: %s', async (path, options) => {
  await expect(startIdp({ fapi: '2.0', seed: {}, ...(options as object) })).rejects.toMatchObject({
    code: 'invalid_options',
    problems: [{ path }],
  });
});

describe.each(['of a client', 'of all'])("a row that is older than fapi: '2.0' %s", (way) => {
  const store = memoryDirectory();
  const refusedPaths = paths.filter((path) => path.startsWith('/metadata/'));
  const service = useIdp(async () => {
    const before = await startIdp({
      directory: store,
      seed: { ...testSeed, clients: [...testSeed.clients, ...allRecords, goodRecord] } as never,
    });
    await before.close();
    if (way === 'of all') return { directory: store, fapi: '2.0', seed: { mode: 'create' } };
    const rows = store.collection('clients');
    for (const { id } of [...allRecords, goodRecord]) await rows.update(id, (row) => ({ ...row, fapi: '2.0' }));
    return { directory: store, seed: { mode: 'create' } };
  });
  const agent = new Agent();
  beforeAll(async () => {
    const { pushedUrl } = fapiCalls(() => service.issuer, good);
    expect((await signIn(agent, await pushedUrl())).location).toContain('code=');
  });

  test.each(
    refusedPaths.flatMap((path) => ['par', 'token', 'introspect', 'revocation', 'ciba'].map((endpoint) => [path, endpoint] as const)),
  )('%s: is refused at connect/%s, and is told which member it is', async (path, endpoint) => {
    const id = idOf(path);
    const client = clients[path] as Awaited<ReturnType<typeof createAssertingClient>>;
    const method = contradictions[path]?.metadata?.token_endpoint_auth_method;
    const fields = { ...fapiRequest(client), grant_type: 'client_credentials', scope: 'openid', token: 'x', login_hint: 'alice@acme.test' };
    const url = `${service.issuer}/connect/${endpoint}`;
    // A public client cannot ask at CIBA and at introspection anyway.
    const secret = { authorization: basic(id, 'secret-of-the-old-client') };
    const answer =
      method === 'client_secret_basic'
        ? await postForm(url, fields, secret)
        : method === 'none'
          ? await postForm(url, fields)
          : await postForm(url, { ...fields, ...(await client.sign(service.issuer)) });
    // An assertion of ES256 is not of the registered algorithm.
    if (path.endsWith('token_endpoint_auth_signing_alg')) return expect(answer.status).toBe(401);
    expect(answer).toMatchObject({ status: 400, json: { error: 'unauthorized_client' } });
    expect(answer.json.error_description).toContain(
      `metadata ${path.trim().slice('/metadata/'.length)} of this client contradicts FAPI 2.0. Set it to `,
    );
  });

  test.each(refusedPaths)('%s: gets no code at the authorization endpoint', async (path) => {
    const client = clients[path] as Awaited<ReturnType<typeof createAssertingClient>>;
    const uri = String((contradictions[path]?.metadata?.redirect_uris as string[] | undefined)?.[0] ?? redirectUri);
    const query = new URLSearchParams({ ...fapiRequest(client), redirect_uri: uri, scope: 'openid' });
    const answer = await agent.follow(await agent.get(`${service.issuer}/connect/authorize?${query}`));
    const { searchParams, hash } = new URL(answer.location ?? '');
    const error = searchParams.get('error') ?? new URLSearchParams(hash.slice(1)).get('error');
    expect(error).toMatch(/^(?:unauthorized_client|invalid_request)$/);
  });

  test('an older row stops no change of another member, and no other client', async () => {
    const { clients: directory } = service.idp.directory;
    for (const path of paths) expect(await directory.update(idOf(path), { name: 'Renamed' })).toMatchObject({ name: 'Renamed' });
    const { redeem, codeFor } = fapiCalls(() => service.issuer, good);
    expect((await redeem(await codeFor(agent))).status).toBe(200);
  });
});
