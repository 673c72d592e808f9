/** Option `features`: each feature works from the request to the last token. */
import { createHash, X509Certificate } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { compactDecrypt, decodeJwt, exportJWK, generateKeyPair } from 'jose';
import { testTls } from '../../support/browser/tls.js';
import { Agent, type Answer, authorizeUrl, basic, formOf, type Json, obtainTokens, postForm, signIn } from '../../support/client/agent.js';
import { responseOf, userinfo } from '../../support/client/steps.js';
import type { TestIdpOptions } from '../../support/service/idp.js';
import { redirectUri } from '../../support/service/seed.js';
import { useFeatures, web, withPkce } from './service-with-features.js';

const { discovery, service, start, token } = useFeatures();

describe('OpenID Connect Core §5.5: the claims parameter', () => {
  const claims = JSON.stringify({ userinfo: { phone_number: null }, id_token: { given_name: { essential: true } } });

  test('claims that the client may have by a scope are there without the scope, each where it was asked for', async () => {
    await start({ claimsParameter: { enabled: true } });
    const { tokens } = await obtainTokens(service.issuer, { scope: 'openid', claims });
    expect(decodeJwt(tokens.id_token)).toMatchObject({ given_name: 'Alice' });
    expect(decodeJwt(tokens.id_token)).not.toHaveProperty('phone_number');
    const { json } = await userinfo(service.issuer, tokens.access_token);
    expect(json).toMatchObject({ phone_number: '+4790000001' });
    expect(json).not.toHaveProperty('given_name');
    expect((await discovery()).claims_parameter_supported).toBe(true);
  });

  test('a claim that the client may have by no scope is refused for good: not issued, and not asked about', async () => {
    await start({ claimsParameter: { enabled: true } });
    await service.idp.directory.clients.update('web', { allowedScopes: ['openid', 'profile'] });
    const { agent, tokens } = await obtainTokens(service.issuer, { scope: 'openid profile', claims });
    const { json } = await userinfo(service.issuer, tokens.access_token);
    expect(json).toHaveProperty('given_name');
    expect(json).not.toHaveProperty('phone_number');
    const again = await agent.get(authorizeUrl(service.issuer, { claims, prompt: 'none', ...withPkce().parameters }));
    expect(responseOf(again).get('code')).toEqual(expect.any(String));
    expect(responseOf(again).has('claims')).toBe(false);
  });

  test('what a client may have no more is not issued either', async () => {
    await start({ claimsParameter: { enabled: true } });
    const { tokens } = await obtainTokens(service.issuer, { scope: 'openid', claims });
    await service.idp.directory.clients.update('web', { allowedScopes: ['openid'] });
    expect((await userinfo(service.issuer, tokens.access_token)).json).not.toHaveProperty('phone_number');
  });

  test('a client that needs consent asks once for the claims, and then has these and no others', async () => {
    await start({ claimsParameter: { enabled: true } });
    const agent = new Agent();
    const begin = (asked: Record<string, string>) => {
      const { verifier, parameters } = withPkce();
      return { verifier, url: authorizeUrl(service.issuer, { client_id: 'third-party', ...parameters, ...asked }) };
    };
    const redeemed = async (answer: Answer, verifier: string): Promise<Json> => {
      const code = responseOf(answer).get('code') ?? '';
      const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
      return (await token(fields, { authorization: basic('third-party', 'third-secret') })).json;
    };
    const allow = async (page: Answer) => {
      const { action, fields } = formOf(page);
      return agent.follow(await agent.post(action, { ...fields, decision: 'allow' }));
    };
    const plain = begin({});
    await redeemed(await allow(await signIn(agent, plain.url)), plain.verifier);

    const first = begin({ claims });
    const page = await agent.follow(await agent.get(first.url));
    expect(page.body).toContain('name="decision"');
    const { access_token: accessToken } = await redeemed(await allow(page), first.verifier);
    expect((await userinfo(service.issuer, accessToken)).json).toMatchObject({ phone_number: '+4790000001' });

    const second = begin({ claims, prompt: 'none' });
    const again = await redeemed(await agent.get(second.url), second.verifier);
    expect((await userinfo(service.issuer, again.access_token)).json).not.toHaveProperty('email');
    expect(responseOf(await agent.get(begin({ claims: '{"userinfo":{"email":null}}', prompt: 'none' }).url)).get('error')).toBe(
      'consent_required',
    );
    const without = begin({ prompt: 'none' });
    const less = await redeemed(await agent.get(without.url), without.verifier);
    expect((await userinfo(service.issuer, less.access_token)).json).not.toHaveProperty('phone_number');
  });
});

describe('RFC 8705: mutual TLS', () => {
  const certificate = new X509Certificate(testTls.cert);
  const x5t = createHash('sha256').update(certificate.raw).digest('base64url');
  /** Header by which a proxy that terminates TLS passes the certificate on. */
  const proof = { 'x-client-cert': encodeURIComponent(testTls.cert) };
  const features: TestIdpOptions['features'] = {
    mTLS: {
      enabled: true,
      tlsClientAuth: true,
      selfSignedTlsClientAuth: true,
      certificateBoundAccessTokens: true,
      getCertificate: (ctx) => decodeURIComponent(ctx.get('x-client-cert')) || undefined,
      certificateAuthorized: (ctx) => ctx.get('x-client-cert') !== '',
      certificateSubjectMatches: (_ctx, property, expected) =>
        property === 'tls_client_auth_subject_dn' && expected === certificate.subject,
    },
  };
  const create = (id: string, metadata: Record<string, unknown>) =>
    service.idp.directory.clients.create({
      id,
      name: 'Shows a certificate',
      metadata: { grant_types: ['client_credentials'], ...metadata },
      allowedScopes: ['orders.read'],
    });
  const asked = { grant_type: 'client_credentials', scope: 'orders.read' };

  test('the methods are in discovery, for each endpoint that takes them', async () => {
    await start(features);
    expect(await discovery()).toMatchObject({
      token_endpoint_auth_methods_supported: expect.arrayContaining(['tls_client_auth', 'self_signed_tls_client_auth']),
      introspection_endpoint_auth_methods_supported: expect.arrayContaining(['tls_client_auth', 'self_signed_tls_client_auth']),
      tls_client_certificate_bound_access_tokens: true,
    });
  });

  test('§2.1: a client authenticates by the subject of its certificate, and not without it', async () => {
    await start(features);
    const { secret } = await create('dn', {
      token_endpoint_auth_method: 'tls_client_auth',
      tls_client_auth_subject_dn: certificate.subject,
    });
    expect(secret).toBeUndefined();
    expect((await token({ ...asked, client_id: 'dn' }, proof)).json).toMatchObject({ scope: 'orders.read' });
    expect(await token({ ...asked, client_id: 'dn' }, {})).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
    await create('other', { token_endpoint_auth_method: 'tls_client_auth', tls_client_auth_subject_dn: 'CN=other' });
    expect(await token({ ...asked, client_id: 'other' }, proof)).toMatchObject({ status: 401, json: { error: 'invalid_client' } });
  });

  test('§2.2: a client authenticates by a certificate of its key set', async () => {
    await start(features);
    const jwk = { ...certificate.publicKey.export({ format: 'jwk' }), x5c: [certificate.raw.toString('base64')] };
    await create('self', { token_endpoint_auth_method: 'self_signed_tls_client_auth', jwks: { keys: [jwk] } });
    expect((await token({ ...asked, client_id: 'self' }, proof)).status).toBe(200);
    expect((await token({ ...asked, client_id: 'self' }, {})).status).toBe(401);
  });

  test('§3: a token is bound to the certificate, at introspection and at userinfo', async () => {
    await start(features);
    const { metadata } = await service.idp.directory.clients.require('web');
    await service.idp.directory.clients.update('web', { metadata: { ...metadata, tls_client_certificate_bound_access_tokens: true } });
    const { verifier, parameters } = withPkce();
    const code = responseOf(await signIn(new Agent(), authorizeUrl(service.issuer, parameters))).get('code') ?? '';
    const fields = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
    const { json } = await token(fields, { ...web, ...proof });
    const { json: introspected } = await postForm(`${service.issuer}/connect/introspect`, { token: json.access_token }, web);
    expect(introspected).toMatchObject({ active: true, cnf: { 'x5t#S256': x5t } });
    const at = (headers: Record<string, string>) =>
      fetch(`${service.issuer}/connect/userinfo`, { headers: { authorization: `Bearer ${json.access_token}`, ...headers } });
    expect((await at({})).status).toBe(401);
    expect((await at(proof)).status).toBe(200);
  });
});

describe('RFC 8707: resource indicators', () => {
  const orders = 'https://orders.example.com/';
  const createResources = async () => {
    const { apiResources, clients } = service.idp.directory;
    await apiResources.create({ id: orders, name: 'Orders', secret: 'orders-secret', scopes: ['o.read', 'o.write'] });
    await apiResources.create({ id: 'https://bills.example.com/', name: 'Bills', secret: 'bills-secret', scopes: ['b.read'] });
    for (const id of ['web', 'service', 'jwt', 'third-party'])
      await clients.update(id, { allowedScopes: ['openid', 'profile', 'o.read', 'b.read'] });
  };
  const both = 'https://bills.example.com/';
  const codeFor = async (resources: readonly string[], more: Record<string, string> = {}) => {
    const { verifier, parameters } = withPkce();
    const url = new URL(authorizeUrl(service.issuer, { scope: 'openid profile offline_access o.read b.read', ...parameters, ...more }));
    for (const resource of resources) url.searchParams.append('resource', resource);
    const answer = await signIn(new Agent(), url.href);
    return {
      grant_type: 'authorization_code',
      code: responseOf(answer).get('code') ?? '',
      redirect_uri: redirectUri,
      code_verifier: verifier,
    };
  };

  test('a token for an API resource has its id as audience, and its scopes alone', async () => {
    await start({ resourceIndicators: { enabled: true } });
    await createResources();
    const { json } = await token({ ...(await codeFor([orders, both])), resource: orders }, web);
    expect(json).toMatchObject({ scope: 'o.read' });
    const introspected = (caller: string, secret: string) =>
      postForm(`${service.issuer}/connect/introspect`, { token: json.access_token }, { authorization: basic(caller, secret) });
    expect((await introspected(orders, 'orders-secret')).json).toMatchObject({ active: true, aud: [orders], scope: 'o.read' });
    expect((await introspected(both, 'bills-secret')).json).toEqual({ active: false });
    expect((await userinfo(service.issuer, json.access_token)).status).toBe(403);
    const refreshed = await token({ grant_type: 'refresh_token', refresh_token: json.refresh_token, resource: both }, web);
    expect(refreshed.json).toMatchObject({ scope: 'b.read' });
  });

  test('as a JWT too, and for a client by itself', async () => {
    await start({ resourceIndicators: { enabled: true } });
    await createResources();
    const jwt = { authorization: basic('jwt', 'jwt-secret') };
    const { json } = await token({ ...(await codeFor([orders], { client_id: 'jwt' })), resource: orders }, jwt);
    expect(decodeJwt(json.access_token)).toMatchObject({ aud: [orders], scope: 'o.read' });
    const own = await token({ grant_type: 'client_credentials', resource: orders }, { authorization: basic('service', 'service-secret') });
    expect(own.json).toMatchObject({ scope: 'o.read' });
  });

  test('§2: an unknown resource is `invalid_target`, as is one that was not asked for at first', async () => {
    await start({ resourceIndicators: { enabled: true } });
    await createResources();
    const agent = new Agent();
    const refused = await agent.get(authorizeUrl(service.issuer, { ...withPkce().parameters, resource: 'https://unknown.example.com/' }));
    expect(responseOf(refused).get('error')).toBe('invalid_target');
    expect(await token({ ...(await codeFor([orders])), resource: both }, web)).toMatchObject({ json: { error: 'invalid_target' } });
  });

  test('a host says itself which resources there are; format and lifetime are as it says', async () => {
    const getResourceServerInfo = () => ({ scope: 'o.read', audience: 'orders', accessTokenTTL: 77, accessTokenFormat: 'jwt' as const });
    await start({ resourceIndicators: { enabled: true, getResourceServerInfo } });
    await createResources();
    const { json } = await token({ ...(await codeFor(['urn:orders'])), resource: 'urn:orders' }, web);
    expect(json).toMatchObject({ scope: 'o.read', expires_in: 77 });
    expect(decodeJwt(json.access_token)).toMatchObject({ aud: ['orders'], scope: 'o.read' });
    expect((await postForm(`${service.issuer}/connect/introspect`, { token: json.access_token }, web)).json).toMatchObject({
      aud: ['orders'],
    });
  });

  test('a client that needs consent gets for the resource what was allowed', async () => {
    await start({ resourceIndicators: { enabled: true } });
    await createResources();
    const agent = new Agent();
    const { verifier, parameters } = withPkce();
    const url = authorizeUrl(service.issuer, { client_id: 'third-party', scope: 'openid o.read', resource: orders, ...parameters });
    const page = await signIn(agent, url);
    const { action, fields } = formOf(page);
    const code = responseOf(await agent.follow(await agent.post(action, { ...fields, decision: 'allow' }))).get('code') ?? '';
    const bought = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier, resource: orders };
    expect((await token(bought, { authorization: basic('third-party', 'third-secret') })).json).toMatchObject({ scope: 'o.read' });
  });
});

describe('encryption', () => {
  test('ID token, userinfo and authorization response are encrypted to the key that the client published', async () => {
    await start({ encryption: { enabled: true }, jwtUserinfo: { enabled: true } });
    const { privateKey, publicKey } = await generateKeyPair('RSA-OAEP-256', { extractable: true });
    const { metadata } = await service.idp.directory.clients.require('web');
    const encrypted = Object.fromEntries(
      ['id_token', 'userinfo', 'authorization'].flatMap((kind) => [[`${kind}_encrypted_response_alg`, 'RSA-OAEP-256']]),
    );
    const jwks = { keys: [{ ...(await exportJWK(publicKey)), use: 'enc', kid: 'enc' }] };
    await service.idp.directory.clients.update('web', {
      metadata: { ...metadata, ...encrypted, userinfo_signed_response_alg: 'RS256', authorization_signed_response_alg: 'RS256', jwks },
    });
    const opened = async (jwe: string) => decodeJwt(new TextDecoder().decode((await compactDecrypt(jwe, privateKey)).plaintext));
    const { agent, tokens } = await obtainTokens(service.issuer, { scope: 'openid profile' });
    expect(await opened(tokens.id_token)).toMatchObject({ iss: service.issuer, aud: 'web' });
    const answer = await fetch(`${service.issuer}/connect/userinfo`, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    expect(answer.headers.get('content-type')).toContain('application/jwt');
    expect(await opened(await answer.text())).toMatchObject({ name: 'Alice Adams' });
    const signedIn = await agent.get(authorizeUrl(service.issuer, { response_mode: 'jwt', ...withPkce().parameters }));
    expect(await opened(responseOf(signedIn).get('response') ?? '')).toMatchObject({ code: expect.any(String), iss: service.issuer });
  });

  test('discovery names algorithms that work with a published key, and no way to encrypt to the service', async () => {
    await start({ encryption: { enabled: true }, jwtUserinfo: { enabled: true } });
    const document = await discovery();
    for (const kind of ['id_token', 'userinfo', 'authorization'])
      for (const alg of document[`${kind}_encryption_alg_values_supported`]) expect(alg).toMatch(/^(RSA-OAEP|ECDH-ES)/);
    expect(document.request_object_encryption_alg_values_supported ?? []).toEqual([]);
    expect(document.userinfo_signing_alg_values_supported.toSorted()).toEqual(['ES256', 'RS256']);
  });
});
