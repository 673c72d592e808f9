/**
 * Access tokens that are bound to a key or a certificate, at the admin API, where FAPI 2.0 applies to all clients.
 * @see RFC 9449 §7, RFC 8705 §3
 */
import { createHash, randomUUID } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, type JWTHeaderParameters, SignJWT } from 'jose';
import { adminScopes, adminSeed } from '../../support/administration/admin.js';
import { testTls } from '../../support/browser/tls.js';
import { postForm } from '../../support/client/agent.js';
import { type AssertingClient, createAssertingClient } from '../../support/client/assertions.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';
import { epochSeconds } from '../../support/time/epoch-seconds.js';

const admin = await createAssertingClient('admin');
const certified = await createAssertingClient('certified');
const recordOf = ({ seed }: AssertingClient, metadata: Readonly<Record<string, unknown>> = {}) => ({
  ...seed,
  allowedScopes: [...adminScopes],
  adminTenants: ['*'],
  metadata: { ...seed.metadata, redirect_uris: [], response_types: [], grant_types: ['client_credentials'], ...metadata },
});
const seed = { ...adminSeed, clients: [recordOf(admin)] };
const certificate = { 'x-client-cert': encodeURIComponent(testTls.cert) };

const service = useIdp({ fapi: '2.0', seed });
/** A service below a path of its origin. */
const strict = useIdp({
  path: '/login',
  fapi: '2.0',
  seed: { ...seed, clients: [recordOf(admin), recordOf(certified, { tls_client_certificate_bound_access_tokens: true })] },
  features: {
    dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 7), requireNonce: () => true },
    mTLS: {
      enabled: true,
      certificateBoundAccessTokens: true,
      getCertificate: (ctx) => decodeURIComponent(ctx.get('x-client-cert')) || undefined,
    },
  },
});

const own = await generateKeyPair('ES256', { extractable: true });
const other = await generateKeyPair('ES256', { extractable: true });
const rsa = await generateKeyPair('RS256', { extractable: true });
const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url');

interface Proof {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Partial<JWTHeaderParameters>;
  readonly keys?: Awaited<ReturnType<typeof generateKeyPair>>;
}

async function proofOf(htm: string, htu: string, { claims = {}, header = {}, keys = own }: Proof = {}): Promise<string> {
  const payload = { htm, htu, jti: randomUUID(), iat: epochSeconds(), ...claims };
  return new SignJWT(JSON.parse(JSON.stringify(payload)))
    .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: await exportJWK(keys.publicKey), ...header })
    .sign(keys.privateKey);
}

/** Asks for a token as a client of the profile does: with a nonce as soon as the service has given one. */
async function tokenFrom(issuer: string, client: AssertingClient, headers: Readonly<Record<string, string>> = {}, isBound = true) {
  const url = `${issuer}/connect/token`;
  const ask = async (nonce?: string | null) => {
    const fields = { grant_type: 'client_credentials', scope: 'idp.groups:read idp.clients:read', ...(await client.sign(issuer)) };
    return postForm(url, fields, {
      ...headers,
      ...(isBound && { dpop: await proofOf('POST', url, { claims: { nonce: nonce ?? undefined } }) }),
    });
  };
  const first = await ask();
  const nonce = first.headers.get('dpop-nonce');
  return (first.json.error === 'use_dpop_nonce' ? await ask(nonce) : first).json.access_token as string;
}

const at = '/idp/api/v1/clients';
async function call(issuer: string, headers: Readonly<Record<string, string>>, path = at, method = 'GET') {
  const response = await fetch(issuer + path, { method, headers });
  const challenge = response.headers.get('www-authenticate') ?? '';
  const json = (await response.json()) as { readonly code?: string };
  return {
    status: response.status,
    error: /error="(\w+)"/.exec(challenge)?.[1],
    challenge,
    nonce: response.headers.get('dpop-nonce'),
    json,
  };
}
const dpop = (token: string, proof?: string) => ({ authorization: `DPoP ${token}`, ...(proof !== undefined && { dpop: proof }) });

describe("RFC 9449 §7: fapi: '2.0' of all clients", () => {
  const algs = 'algs="ES256 Ed25519 EdDSA"';

  test('RFC 9449 §11.1: a proof whose iat is ahead opens nothing again while it is accepted', async () => {
    const token = await tokenFrom(service.issuer, admin);
    const headers = dpop(token, await proofOf('GET', service.issuer + at, { claims: { ath: hashOf(token), iat: epochSeconds() + 290 } }));
    expect(await call(service.issuer, headers)).toMatchObject({ status: 200 });
    try {
      for (const seconds of [120, 270, 480]) {
        passTime(seconds);
        expect(await call(service.issuer, headers)).toMatchObject({ status: 401, error: 'invalid_dpop_proof' });
        backToPresent();
      }
    } finally {
      backToPresent();
    }
  });

  test('the admin API answers a bound token with a proof, whatever the query', async () => {
    const token = await tokenFrom(service.issuer, admin);
    for (const query of ['', '?limit=1']) {
      const headers = dpop(token, await proofOf('GET', service.issuer + at, { claims: { ath: hashOf(token) } }));
      expect(await call(service.issuer, headers, at + query)).toMatchObject({ status: 200 });
    }
  });

  test('a request without a token learns both schemes, and of no error', async () => {
    const answer = await call(service.issuer, {});
    expect(answer).toMatchObject({ status: 401, error: undefined });
    expect(answer.challenge).toBe(`Bearer realm="${service.issuer}", DPoP realm="${service.issuer}", ${algs}`);
  });

  test('a bound token is no bearer token, with a proof or without', async () => {
    const token = await tokenFrom(service.issuer, admin);
    const proof = await proofOf('GET', service.issuer + at, { claims: { ath: hashOf(token) } });
    for (const headers of [{}, { dpop: proof }]) {
      const answer = await call(service.issuer, { authorization: `Bearer ${token}`, ...headers });
      expect(answer).toMatchObject({ status: 401, error: 'invalid_token', json: { code: 'invalid_token' } });
      expect(answer.challenge).toContain(`error="invalid_token", DPoP realm="${service.issuer}", ${algs}`);
    }
  });

  test('a proof counts once, also when it comes several times at the same time', async () => {
    const token = await tokenFrom(service.issuer, admin);
    const headers = dpop(token, await proofOf('GET', service.issuer + at, { claims: { ath: hashOf(token) } }));
    const answers = await Promise.all(Array.from({ length: 5 }, () => call(service.issuer, headers)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401, 401]);
    expect(await call(service.issuer, headers)).toMatchObject({ status: 401, error: 'invalid_dpop_proof' });
  });

  test.each<[string, string, (token: string, url: string) => Proof]>([
    ['for another method', 'invalid_dpop_proof', () => ({ claims: { htm: 'POST' } })],
    ['for another path', 'invalid_dpop_proof', (_, url) => ({ claims: { htu: `${url}/x` } })],
    ['for another origin', 'invalid_dpop_proof', () => ({ claims: { htu: `https://elsewhere.test${at}` } })],
    ['for another token', 'invalid_dpop_proof', () => ({ claims: { ath: hashOf('other') } })],
    ['for no token', 'invalid_dpop_proof', () => ({ claims: { ath: undefined } })],
    ['without jti', 'invalid_dpop_proof', () => ({ claims: { jti: undefined } })],
    ['that is old', 'invalid_dpop_proof', () => ({ claims: { iat: epochSeconds() - 400 } })],
    ['of the future', 'invalid_dpop_proof', () => ({ claims: { iat: epochSeconds() + 400 } })],
    ['with another typ', 'invalid_dpop_proof', () => ({ header: { typ: 'JWT' } })],
    ['with crit', 'invalid_dpop_proof', () => ({ header: { crit: ['b64'], b64: true } })],
    ['of RS256', 'invalid_dpop_proof', () => ({ header: { alg: 'RS256' }, keys: rsa })],
    ['by another key', 'invalid_token', () => ({ keys: other })],
  ])('a proof %s is refused: %s', async (_, error, proof) => {
    const token = await tokenFrom(service.issuer, admin);
    const { claims, ...more } = proof(token, service.issuer + at);
    const headers = dpop(token, await proofOf('GET', service.issuer + at, { ...more, claims: { ath: hashOf(token), ...claims } }));
    const answer = await call(service.issuer, headers);
    expect(answer).toMatchObject({ status: 401, error, json: { code: 'invalid_token' } });
    expect(answer.challenge).toContain(`DPoP realm="${service.issuer}", ${algs}, error="${error}"`);
  });

  test('a proof with the private key is refused, and so is one signed by another key than it shows', async () => {
    const token = await tokenFrom(service.issuer, admin);
    const claims = { ath: hashOf(token) };
    const url = service.issuer + at;
    for (const jwk of [await exportJWK(own.privateKey), await exportJWK(other.publicKey)])
      expect(await call(service.issuer, dpop(token, await proofOf('GET', url, { claims, header: { jwk } })))).toMatchObject({
        status: 401,
        error: 'invalid_dpop_proof',
      });
  });

  test('no proof, two proofs, and text in place of a proof are refused', async () => {
    const token = await tokenFrom(service.issuer, admin);
    const one = () => proofOf('GET', service.issuer + at, { claims: { ath: hashOf(token) } });
    for (const proof of [undefined, `${await one()}, ${await one()}`, 'x', 'x'.repeat(9000)])
      expect(await call(service.issuer, dpop(token, proof))).toMatchObject({ status: 401, error: 'invalid_dpop_proof' });
  });

  test('a token without the scope is 403, by its scheme', async () => {
    const token = await tokenFrom(service.issuer, admin);
    const path = '/idp/api/v1/tenants';
    const proof = await proofOf('GET', service.issuer + path, { claims: { ath: hashOf(token) } });
    const answer = await call(service.issuer, dpop(token, proof), path);
    expect(answer).toMatchObject({ status: 403, error: 'insufficient_scope' });
    expect(answer.challenge).toContain(`${algs}, error="insufficient_scope"`);
  });
});

describe('RFC 9449 §9: requireNonce', () => {
  test('a proof without a nonce gets one, and works with it', async () => {
    const token = await tokenFrom(strict.issuer, admin);
    const claims = { ath: hashOf(token) };
    const without = await call(strict.issuer, dpop(token, await proofOf('GET', strict.issuer + at, { claims })));
    expect(without).toMatchObject({ status: 401, error: 'use_dpop_nonce', nonce: expect.any(String) });
    const wrong = await proofOf('GET', strict.issuer + at, { claims: { ...claims, nonce: 'made-up' } });
    expect(await call(strict.issuer, dpop(token, wrong))).toMatchObject({ status: 401, error: 'use_dpop_nonce' });
    const proof = await proofOf('GET', strict.issuer + at, { claims: { ...claims, nonce: without.nonce } });
    expect(await call(strict.issuer, dpop(token, proof))).toMatchObject({ status: 200 });
  });
});

describe('RFC 8705 §3: a token that is bound to a certificate', () => {
  test('is answered with its certificate, and refused without it, with another one, and as a DPoP token', async () => {
    const token = await tokenFrom(strict.issuer, certified, certificate, false);
    const authorization = `Bearer ${token}`;
    expect(await call(strict.issuer, { authorization, ...certificate })).toMatchObject({ status: 200 });
    const foreign = { 'x-client-cert': encodeURIComponent('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----') };
    const proof = await proofOf('GET', strict.issuer + at, { claims: { ath: hashOf(token) } });
    for (const headers of [{ authorization }, { authorization, ...foreign }, { ...dpop(token, proof), ...certificate }])
      expect(await call(strict.issuer, headers)).toMatchObject({ status: 401, error: 'invalid_token' });
  });
});
