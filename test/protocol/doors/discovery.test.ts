import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import type { Json } from '../../support/client/agent.js';
import { discover } from '../../support/client/relying-party.js';
import { useIdp } from '../../support/service/use-idp.js';
import { EVERYWHERE } from '../../support/time/in-time.js';

const service = useIdp();

const discovery = async (): Promise<Json> => (await fetch(`${service.issuer}/.well-known/openid-configuration`)).json();

describe('4.1 discovery', () => {
  test('4.1 has the members of the specification; endpoints are absolute URLs at the documented paths', async () => {
    expect(await discovery()).toMatchObject({
      issuer: service.issuer,
      authorization_endpoint: `${service.issuer}/connect/authorize`,
      token_endpoint: `${service.issuer}/connect/token`,
      userinfo_endpoint: `${service.issuer}/connect/userinfo`,
      end_session_endpoint: `${service.issuer}/connect/endsession`,
      jwks_uri: `${service.issuer}/.well-known/openid-configuration/jwks`,
      introspection_endpoint: `${service.issuer}/connect/introspect`,
      revocation_endpoint: `${service.issuer}/connect/revocation`,
      pushed_authorization_request_endpoint: `${service.issuer}/connect/par`,
      scopes_supported: expect.arrayContaining([
        'openid',
        'profile',
        'email',
        'phone',
        'org',
        'roles',
        'perms',
        'address',
        'offline_access',
      ]),
      response_types_supported: ['code', 'id_token', 'token id_token', 'code id_token', 'code token', 'code id_token token'],
      response_modes_supported: ['form_post', 'fragment', 'query', 'jwt', 'query.jwt', 'fragment.jwt', 'form_post.jwt'],
      authorization_signing_alg_values_supported: ['RS256', 'ES256'],
      grant_types_supported: expect.arrayContaining(['authorization_code', 'implicit', 'refresh_token', 'client_credentials']),
      subject_types_supported: ['public', 'pairwise'],
      id_token_signing_alg_values_supported: expect.arrayContaining(['RS256', 'ES256']),
    });
  });

  test('4.1 claims_supported lists the default claims and those of the protocol', async () => {
    const { claims_supported: claims } = await discovery();
    const expected =
      `sub tid oid family_name given_name name preferred_username locale picture email email_verified secondary_emails phone_number
      phone_number_verified orgid orgin company_name may_login role perm amr acr idp auth_time`.split(/\s+/);
    expect(claims).toEqual(expect.arrayContaining(expected));
    expect(new Set(claims).size).toBe(claims.length);
    // Without an extension that impersonates, no token has `act`.
    expect(claims).not.toContain('act');
  });

  test('design §5: what it promises beyond the specification is true', async () => {
    const document = await discovery();
    expect(document).toMatchObject({
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      token_endpoint_auth_methods_supported: expect.arrayContaining([
        'client_secret_basic',
        'client_secret_post',
        'private_key_jwt',
        'none',
      ]),
      prompt_values_supported: ['none', 'create', 'select_account', 'login', 'consent'],
      request_uri_parameter_supported: true,
      claims_parameter_supported: false,
    });
    expect(document.token_endpoint_auth_methods_supported).not.toContain('client_secret_jwt');
    const endpoints = Object.entries(document).filter(([name]) => /_endpoint$|_uri$/.test(name));
    expect(endpoints.filter(([, url]) => !String(url).startsWith(`${service.issuer}/`))).toEqual([]);
  });

  test('4.1 scopes are live: one of a new API resource appears within two seconds', async () => {
    await service.idp.directory.apiResources.create({ id: 'ledger', name: 'Ledger', scopes: ['ledger.read'] });
    const deadline = Date.now() + EVERYWHERE;
    let scopes: string[] = [];
    while (!scopes.includes('ledger.read') && Date.now() < deadline) {
      scopes = (await discovery()).scopes_supported;
      await sleep(50);
    }
    expect(scopes).toContain('ledger.read');
  });

  test('4.1 a client library discovers the provider by its issuer', async () => {
    const configuration = await discover(service.issuer);
    expect(configuration.serverMetadata()).toMatchObject({ issuer: service.issuer, token_endpoint: `${service.issuer}/connect/token` });
  });
});

describe('4.1 key set', () => {
  test('4.1 holds an RS256 and a P-256 ES256 key with public members only, all of them strings', async () => {
    const { keys } = (await (await fetch(`${service.issuer}/.well-known/openid-configuration/jwks`)).json()) as Json;
    const members = (key: object) => Object.keys(key).sort();
    const rsa = keys.find((key: Json) => key.alg === 'RS256');
    const ec = keys.find((key: Json) => key.alg === 'ES256');
    expect(rsa).toMatchObject({ kty: 'RSA', use: 'sig' });
    expect(members(rsa)).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
    expect(ec).toMatchObject({ kty: 'EC', use: 'sig', crv: 'P-256' });
    expect(members(ec)).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
    expect(keys.flatMap((key: Json) => Object.values(key)).filter((value: unknown) => typeof value !== 'string')).toEqual([]);
    expect(new Set(keys.map(({ kid }: Json) => kid)).size).toBe(keys.length);
  });

  test('4.1 needs no credentials and may be read from any origin', async () => {
    const response = await fetch(`${service.issuer}/.well-known/openid-configuration/jwks`, {
      headers: { origin: 'https://elsewhere.test' },
    });
    expect(['*', 'https://elsewhere.test']).toContain(response.headers.get('access-control-allow-origin'));
    expect(response.headers.get('access-control-allow-credentials')).toBeNull();
    expect(response.headers.get('content-type')).toMatch(/^application\/(jwk-set\+)?json/);
  });
});

test.each([
  ['GET', '/connect/par', 'POST'],
  ['GET', '/connect/token', 'POST'],
  ['PUT', '/connect/token', 'POST'],
  ['GET', '/connect/introspect', 'POST'],
  ['GET', '/connect/revocation', 'POST'],
  ['PUT', '/connect/authorize', 'GET, POST'],
  ['DELETE', '/connect/userinfo', 'GET, POST'],
  ['PUT', '/connect/endsession', 'GET, POST'],
  ['POST', '/.well-known/openid-configuration', 'GET'],
  ['POST', '/.well-known/openid-configuration/jwks', 'GET'],
])('Endpoints: %s %s is 405 and names %s', async (method, path, allowed) => {
  const response = await fetch(service.issuer + path, { method });
  expect(response.status).toBe(405);
  for (const one of allowed.split(', ')) expect(response.headers.get('allow')).toContain(one);
});
