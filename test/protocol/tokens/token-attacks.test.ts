import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { UnsecuredJWT } from 'jose';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import { fromEverywhere } from '../../support/client/addresses.js';
import { Agent, basic, type Json, postForm } from '../../support/client/agent.js';
import { type AssertingClient, assertionType, createAssertingClient } from '../../support/client/assertions.js';
import { rawRequest } from '../../support/client/raw-request.js';
import { authorizationOf, introspect, isActive, obtainCode, redeem, refresh } from '../../support/client/steps.js';
import { expectNothingInternal, expectQuietLog } from '../../support/service/leaks.js';
import { testSeed } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { epochSeconds } from '../../support/time/epoch-seconds.js';

let asserting: AssertingClient;
const alice = new Agent();
/** All writes that reached the artifact store. */
const stored: string[] = [];

const service = useIdp(async () => {
  asserting = await createAssertingClient();
  const artifacts = memoryArtifacts();
  return {
    trustProxy: fromEverywhere(),
    seed: { ...testSeed, clients: [...testSeed.clients, asserting.seed] },
    artifacts: {
      ...artifacts,
      commit: (writes) => {
        stored.push(JSON.stringify(writes));
        return artifacts.commit(writes);
      },
    },
  };
});
beforeAll(async () => {
  await obtainCode(service.issuer, alice);
});

afterEach(() => void jest.restoreAllMocks());

const later = (seconds: number) => {
  jest.restoreAllMocks();
  const now = Date.now();
  jest.spyOn(Date, 'now').mockImplementation(() => now + seconds * 1000);
};
const token = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
  postForm(`${service.issuer}/connect/token`, fields, headers);

describe('B1: a code buys once', () => {
  test('B1: the second redemption is refused, and told nothing', async () => {
    const code = await obtainCode(service.issuer, alice);
    const first = await redeem(service.issuer, code);
    const second = await redeem(service.issuer, code);
    expect([first.status, second.status]).toEqual([200, 400]);
    expect(second.json).toEqual({ error: 'invalid_grant', error_description: expect.any(String) });
    expectNothingInternal(second.text, [code.code, first.json.access_token]);
  });

  test('B1: another client neither redeems nor spends it', async () => {
    const code = await obtainCode(service.issuer, alice);
    for (const client of ['jwt', 'spa', 'third-party']) {
      const { status, json } = await redeem(service.issuer, { ...code, client });
      expect({ status, error: json.error }).toEqual({ status: 400, error: 'invalid_grant' });
    }
    expect((await redeem(service.issuer, code)).status).toBe(200);
  });

  test('B1: it expires', async () => {
    const code = await obtainCode(service.issuer, alice);
    later(61);
    expect(await redeem(service.issuer, code)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
  });
});

describe('B2: a code that comes back late ends what it bought', () => {
  const scope = 'openid offline_access';
  test.each([30, 120])('B2: %i s later', async (seconds) => {
    const code = await obtainCode(service.issuer, alice, 'web', { scope });
    const { json } = await redeem(service.issuer, code);
    later(seconds);
    expect(await isActive(service.issuer, json.access_token)).toBe(true);
    expect((await redeem(service.issuer, code)).json.error).toBe('invalid_grant');
    expect(await isActive(service.issuer, json.access_token)).toBe(false);
    expect(await isActive(service.issuer, json.refresh_token)).toBe(false);
    expect((await refresh(service.issuer, json.refresh_token)).json.error).toBe('invalid_grant');
  });

  test('B2: within 10 s it is a form sent twice', async () => {
    const code = await obtainCode(service.issuer, alice, 'web', { scope });
    const { json } = await redeem(service.issuer, code);
    later(9);
    expect((await redeem(service.issuer, code)).json.error).toBe('invalid_grant');
    expect(await isActive(service.issuer, json.access_token)).toBe(true);
    expect((await refresh(service.issuer, json.refresh_token)).status).toBe(200);
  });

  describe.each([
    ['the service', {}],
    ['oidc-provider', { configure: () => undefined }],
  ])('of a client whose access tokens live longer than the instance’s, where %s spends it', (_name, options) => {
    const clients = testSeed.clients.map((client) => ({ ...client, lifetimes: { accessToken: 7200 } }));
    const slow = useIdp({ ...options, seed: { ...testSeed, clients } });

    test('B2, RFC 6749 §4.1.2: as long as such a token lives', async () => {
      const code = await obtainCode(slow.issuer, new Agent());
      const { json } = await redeem(slow.issuer, code);
      later(7190);
      expect(await isActive(slow.issuer, json.access_token)).toBe(true);
      expect((await redeem(slow.issuer, code)).json.error).toBe('invalid_grant');
      expect(await isActive(slow.issuer, json.access_token)).toBe(false);
    });
  });

  test('B2: a client that it was not given to ends nothing', async () => {
    const code = await obtainCode(service.issuer, alice, 'web', { scope });
    const { json } = await redeem(service.issuer, code);
    later(30);
    for (const client of ['jwt', 'spa']) expect((await redeem(service.issuer, { ...code, client })).json.error).toBe('invalid_grant');
    expect(await isActive(service.issuer, json.access_token)).toBe(true);
  });
});

describe('B3: of a family of refresh tokens one lives', () => {
  const family = async () =>
    (await redeem(service.issuer, await obtainCode(service.issuer, alice, 'web', { scope: 'openid offline_access' }))).json;

  test('B3: a retry within the grace gets the same successor', async () => {
    const { refresh_token: first } = await family();
    const one = (await refresh(service.issuer, first)).json;
    const two = (await refresh(service.issuer, first)).json;
    expect(two.refresh_token).toBe(one.refresh_token);
    expect(one.refresh_token).not.toBe(first);
    expect(await isActive(service.issuer, two.access_token)).toBe(true);
  });

  test.each([
    ['after the grace', async (first: string) => (await refresh(service.issuer, first)).json, 11],
    [
      'within it, once the successor was used',
      async (first: string) => (await refresh(service.issuer, (await refresh(service.issuer, first)).json.refresh_token)).json,
      0,
    ],
  ])('B3: a replay %s ends the family', async (_name, use, seconds) => {
    const { refresh_token: first, access_token: access } = await family();
    const newest: Json = await use(first);
    if (seconds > 0) later(seconds);
    expect(await refresh(service.issuer, first)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    for (const dead of [newest.access_token, newest.refresh_token, access]) expect(await isActive(service.issuer, dead)).toBe(false);
    expect((await refresh(service.issuer, newest.refresh_token)).json.error).toBe('invalid_grant');
  });

  test('B3: another client neither uses a refresh token nor ends its family', async () => {
    const { refresh_token: first } = await family();
    for (const client of ['jwt', 'spa', 'third-party'])
      expect(await refresh(service.issuer, first, client)).toMatchObject({ status: 400, json: { error: 'invalid_grant' } });
    const { status, json } = await refresh(service.issuer, first);
    expect(status).toBe(200);
    later(30);
    expect((await refresh(service.issuer, first, 'jwt')).json.error).toBe('invalid_grant');
    expect(await isActive(service.issuer, json.access_token)).toBe(true);
  });

  test('B3: no scope is gained by refreshing', async () => {
    const { refresh_token: first } = await family();
    expect((await refresh(service.issuer, first, 'web', { scope: 'openid profile' })).json.error).toBe('invalid_scope');
    expect((await refresh(service.issuer, first, 'web', { scope: 'openid orders.read' })).json.error).toBe('invalid_scope');
  });
});

describe('B8: secrets are kept as digests and refused alike', () => {
  test('B8: an unknown client, a disabled one and a wrong secret get the same bytes', async () => {
    await service.idp.directory.clients.update('pairwise', { status: 'disabled' });
    const refusals = [
      basic('nobody', 'x'),
      basic('web', 'wrong'),
      basic('web', `web-secret${' '}`),
      basic('web', 'x'.repeat(5000)),
      basic('orders', 'wrong'),
      basic('pairwise', 'pairwise-secret'),
    ];
    const answers = await Promise.all(refusals.map((authorization) => token({ grant_type: 'client_credentials' }, { authorization })));
    expect(new Set(answers.map(({ status, text, headers }) => `${status} ${text} ${headers.get('www-authenticate')}`)).size).toBe(1);
    expect(answers[0]).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
    await service.idp.directory.clients.update('pairwise', { status: 'active' });
  });

  test('B8: no secret and no token is in the store, nor is what a browser holds', async () => {
    const code = await obtainCode(service.issuer, alice, 'web', { scope: 'openid offline_access', custom: 'kept' });
    const { json } = await redeem(service.issuer, code);
    const next = (await refresh(service.issuer, json.refresh_token)).json;
    const cookies = [...alice.cookies].filter(([key]) => !key.includes('.sig')).map(([, { value }]) => value);
    const dump = stored.join('\n');
    const credentials = [code.code, json.access_token, json.refresh_token, next.refresh_token, next.access_token, ...cookies];
    for (const credential of [...credentials, 'web-secret', 'service-secret', 'alice@acme.test']) expect(dump).not.toContain(credential);
    const { secrets } = (await service.idp.directory.clients.get('web')) as Json;
    expect(JSON.stringify(secrets)).not.toContain('web-secret');
    // A stored id is not a credential by itself.
    const ids = new Set(dump.match(/[A-Za-z0-9_-]{20,}/g));
    expect(ids.size).toBeGreaterThan(10);
    for (const id of [...ids].slice(0, 400)) expect((await introspect(service.issuer, id)).text).toBe('{"active":false}');
  });
});

describe('B9: a client authenticates in one way, its own', () => {
  const grant = { grant_type: 'client_credentials' };
  test.each<[string, Record<string, string>, Record<string, string>]>([
    [
      'a header and a body',
      { client_id: 'service', client_secret: 'service-secret' },
      { authorization: basic('service', 'service-secret') },
    ],
    ['a header for another than the body', { client_id: 'web' }, { authorization: basic('service', 'service-secret') }],
    ['an empty secret', {}, { authorization: basic('service', '') }],
    ['an empty secret in the body', { client_id: 'service', client_secret: '' }, {}],
    ['no secret', { client_id: 'service' }, {}],
    ['a secret for a public client', { client_id: 'spa', client_secret: 'x' }, {}],
    ['no colon', {}, { authorization: `Basic ${Buffer.from('service').toString('base64')}` }],
    ['no base64', {}, { authorization: 'Basic service:service-secret' }],
    ['not Basic', {}, { authorization: 'Bearer service-secret' }],
    ['nothing after Basic', {}, { authorization: 'Basic' }],
    ['a broken escape', {}, { authorization: `Basic ${Buffer.from('service:%zz').toString('base64')}` }],
    ['an assertion without its type', { client_assertion: 'a.b.c' }, {}],
    ['an assertion that is none', { client_assertion: 'x', client_assertion_type: assertionType }, {}],
    [
      'an unsigned assertion',
      { client_assertion: new UnsecuredJWT({ iss: 'service', sub: 'service' }).encode(), client_assertion_type: assertionType },
      {},
    ],
    ['the secret of another', { client_id: 'service', client_secret: 'web-secret' }, {}],
    ['the secret in place of a key', { client_id: 'asserting', client_secret: 'x' }, {}],
  ])('B9: %s is refused', async (_name, fields, headers) => {
    const { status, json, text } = await token({ ...grant, ...fields }, headers);
    expect([400, 401]).toContain(status);
    expect(json.error).toMatch(/^invalid_(client|request)$/);
    expectNothingInternal(text, ['service-secret']);
  });

  test('B9: credentials in the query count for nothing', async () => {
    const query = new URLSearchParams({ ...grant, client_id: 'service', client_secret: 'service-secret' });
    const { status, json } = await postForm(`${service.issuer}/connect/token?${query}`, grant);
    expect({ status, error: json.error }).toEqual({ status: 401, error: 'invalid_client' });
  });
});

describe('B10: an assertion is made for this service', () => {
  const spend = async (claims: Record<string, unknown>, header: Record<string, unknown> = {}) =>
    token({ grant_type: 'client_credentials', ...(await asserting.sign(service.issuer, claims, header)) });

  test('B10: its audience is the issuer', async () => {
    expect((await spend({})).status).toBe(200);
    const foreign = [
      'http://evil.example',
      `${service.issuer}/`,
      `${service.issuer}/connect/token`,
      `${service.issuer}/connect/par`,
      'asserting',
      '',
      undefined,
      1,
      {},
    ];
    for (const aud of [...foreign, [], ['http://evil.example'], foreign.slice(0, 4)])
      expect({ aud, ...(await spend({ aud })) }).toMatchObject({ aud, status: 401, json: { error: 'invalid_client' } });
  });

  test('B10: whatever Host says', async () => {
    for (const aud of ['http://evil-as', 'http://evil-as/connect/token']) {
      const body = new URLSearchParams({ grant_type: 'client_credentials', ...(await asserting.sign(service.issuer, { aud })) }).toString();
      const lines = [
        'POST /connect/token HTTP/1.1',
        'Host: evil-as',
        'X-Forwarded-Host: evil-as',
        'Content-Type: application/x-www-form-urlencoded',
      ];
      expect((await rawRequest(service.issuer, lines, body)).status).toBe(401);
    }
  });

  test('B10: its other members are right too', async () => {
    const now = epochSeconds();
    const wrong: Record<string, unknown>[] = [
      { iss: 'web' },
      { iss: undefined },
      { sub: 'web' },
      { sub: undefined },
      { jti: undefined },
      { exp: undefined },
      { exp: now - 60 },
      { nbf: now + 120 },
      { iat: now + 120 },
    ];
    for (const claims of wrong) {
      const { status, json } = await spend(claims);
      expect({ claims, status, error: json.error }).toEqual({
        claims,
        status: expect.any(Number),
        error: expect.stringMatching(/^invalid_(client|request)$/),
      });
    }
    const { client_assertion: assertion = '' } = await asserting.sign(service.issuer);
    const [header, payload, signature] = assertion.split('.');
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    const hmac = Buffer.from('{"alg":"HS256","kid":"own"}').toString('base64url');
    for (const forged of [
      `${none}.${payload}.`,
      `${none}.${payload}.${signature}`,
      `${hmac}.${payload}.${signature}`,
      `${header}.${payload}.`,
      `${header}.${payload}.AAAA`,
    ])
      expect(
        (await token({ grant_type: 'client_credentials', client_assertion_type: assertionType, client_assertion: forged })).json.error,
      ).toBe('invalid_client');
  });
});

describe('B11: an assertion authenticates once', () => {
  test('B11: at whatever endpoint it comes back', async () => {
    const assertion = await asserting.sign(service.issuer);
    expect((await token({ grant_type: 'client_credentials', ...assertion })).status).toBe(200);
    for (const path of ['token', 'introspect', 'revocation', 'par']) {
      const { status, json } = await postForm(`${service.issuer}/connect/${path}`, {
        grant_type: 'client_credentials',
        token: 'x',
        ...assertion,
      });
      expect({ path, status, error: json.error }).toEqual({ path, status: 401, error: 'invalid_client' });
    }
  });

  test('B11: its life is short', async () => {
    const now = epochSeconds();
    const { status, json } = await token({
      grant_type: 'client_credentials',
      ...(await asserting.sign(service.issuer, { exp: now + 3600 })),
    });
    expect({ status, error: json.error }).toEqual({ status: 401, error: 'invalid_client' });
  });

  test('B11: the same jti of another client is another', async () => {
    const jti = randomUUID();
    const assertion = await asserting.sign(service.issuer, { jti });
    expect((await token({ grant_type: 'client_credentials', ...assertion })).status).toBe(200);
    expect((await token({ grant_type: 'client_credentials', ...(await asserting.sign(service.issuer, { jti })) })).json.error).toBe(
      'invalid_client',
    );
  });
});

test('B1–B11 leave nothing in the log', () => expectQuietLog(service, ['web-secret', ...Object.values(authorizationOf('web'))]));
