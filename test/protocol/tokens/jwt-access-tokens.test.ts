/** Design §5: access tokens as JWTs (RFC 9068), at every endpoint that reads them. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, customFetch, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { type Agent, type Json, obtainTokens } from '../../support/client/agent.js';
import { type Endpoints, endpointsOf, isActive } from '../../support/client/endpoints.js';
import { useIdp } from '../../support/service/use-idp.js';

let endpoints: Endpoints;
let alice: Agent;
const service = useIdp();
beforeAll(async () => {
  endpoints = endpointsOf(service.issuer);
  ({ agent: alice } = await obtainTokens(service.issuer));
});

const jwtClient = { client: 'jwt', secret: 'jwt-secret' };
const tokensOf = async (parameters: Record<string, string> = {}): Promise<Json> =>
  (await obtainTokens(service.issuer, { agent: alice, ...parameters })).tokens;
const inactive = '{"active":false}';

describe('design §5: access tokens as JWTs', () => {
  const keys = () => createRemoteJWKSet(new URL(`${service.issuer}/.well-known/openid-configuration/jwks`), { [customFetch]: fetch });

  test('design §5: verify against the published keys and carry the claims of RFC 9068', async () => {
    const { access_token: token, id_token: idToken } = await tokensOf({ ...jwtClient, scope: 'openid profile orders.read' });
    const { payload, protectedHeader } = await jwtVerify(token, keys(), { issuer: service.issuer, audience: 'orders', typ: 'at+jwt' });
    const { sub, tid, oid, sid, auth_time } = decodeJwt(idToken) as Json;
    expect(protectedHeader).toMatchObject({ typ: 'at+jwt', kid: expect.any(String) });
    expect(payload).toEqual({
      iss: service.issuer,
      aud: ['orders'],
      sub,
      tid,
      oid,
      sid,
      amr: ['pwd'],
      idp: 'local',
      auth_time,
      client_id: 'jwt',
      scope: 'openid profile orders.read',
      jti: expect.any(String),
      iat: expect.any(Number),
      exp: expect.any(Number),
    });
  });

  test('design §5: of no API have the issuer as audience', async () => {
    const { access_token: token } = await tokensOf(jwtClient);
    expect(decodeJwt(token).aud).toEqual([service.issuer]);
  });

  test('design §5: of a client itself say the client is the subject', async () => {
    await service.idp.directory.clients.create({
      id: 'jwt-service',
      name: 'Service with JWTs',
      secret: 'jwt-service-secret',
      metadata: { grant_types: ['client_credentials'] },
      allowedScopes: ['orders.read'],
      accessTokenType: 'jwt',
    });
    const { access_token: token } = await endpoints.clientCredentials(undefined, 'jwt-service');
    const { payload } = await jwtVerify(token, keys(), { issuer: service.issuer, audience: 'orders', typ: 'at+jwt' });
    expect(payload).toMatchObject({ sub: 'jwt-service', client_id: 'jwt-service', scope: 'orders.read' });
    expect(await isActive(endpoints, token, 'orders')).toBe(true);
  });

  test('design §5: are introspected with the values they carry', async () => {
    const { access_token: token } = await tokensOf({ ...jwtClient, scope: 'openid orders.read' });
    const { json } = await endpoints.introspect(token, 'orders');
    expect(json).toMatchObject({ ...decodeJwt(token), active: true, username: 'alice@acme.test' });
  });

  test('design §5: are accepted at userinfo', async () => {
    const { access_token: token } = await tokensOf({ ...jwtClient, scope: 'openid profile' });
    expect(await endpoints.userinfo(token)).toMatchObject({ status: 200, json: { name: 'Alice Adams' } });
  });

  test('design §5: are dead once revoked, everywhere we are asked', async () => {
    const { tokens } = await obtainTokens(service.issuer, jwtClient);
    expect(await isActive(endpoints, tokens.access_token, 'jwt')).toBe(true);
    expect(await endpoints.revoke(tokens.access_token, 'jwt')).toMatchObject({ status: 200, text: '' });
    expect((await endpoints.introspect(tokens.access_token, 'jwt')).text).toBe(inactive);
    expect(await endpoints.userinfo(tokens.access_token)).toMatchObject({ status: 401 });
  });

  test('design §5: by themselves their jti, and their parts, are no tokens', async () => {
    const { access_token: token } = await tokensOf(jwtClient);
    const { jti = '' } = decodeJwt(token);
    const [header, payload, signature = ''] = token.split('.');
    const tampered = `${header}.${payload}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
    for (const value of [jti, `${header}.${payload}.`, tampered, `x~${jti}`, `jwt~${Buffer.from(jti).toString('base64url')}`]) {
      expect((await endpoints.introspect(value, 'jwt')).text).toBe(inactive);
      expect(await endpoints.userinfo(value)).toMatchObject({ status: 401 });
    }
    expect(await isActive(endpoints, token, 'jwt')).toBe(true);
  });

  test('design §5: are signed with a key that is published under their kid', async () => {
    const { access_token: token } = await tokensOf(jwtClient);
    const { keys: published } = (await (await fetch(`${service.issuer}/.well-known/openid-configuration/jwks`)).json()) as Json;
    const { kid, alg } = decodeProtectedHeader(token);
    expect(published).toContainEqual(expect.objectContaining({ kid, alg, use: 'sig' }));
  });
});
