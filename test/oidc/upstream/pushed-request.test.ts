import { expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { keepAsPushed, PUSHED_LIFETIME_SECONDS, pushedRecord } from '../../../lib/oidc/upstream/pushed-request.js';
import { bare, expectInOrder, issuer, type Untyped } from './pinned.js';

const parameters = { client_id: 'public', scope: 'openid', dpop_jkt: 'thumbprint', state: undefined };

test('a pushed request is saved as a JWT of its parameters, times and names, with dpopJkt and trusted', async () => {
  expectInOrder(
    'actions/authorization/pushed_authorization_requests.js',
    `const MAX_TTL = ${PUSHED_LIFETIME_SECONDS};`,
    'const payload = { ...ctx.oidc.params }',
    '.setIssuedAt(now)',
    '.setIssuer(ctx.oidc.client.clientId)',
    '.setAudience(ctx.oidc.issuer)',
    '.setExpirationTime(now + MAX_TTL)',
    '.setNotBefore(now)',
    'dpopJkt = ctx.oidc.params.dpop_jkt;',
    'PushedAuthorizationRequest({\n    request,\n    dpopJkt,\n    trusted: ',
    'await requestObject.save(ttl)',
    'expires_in: ttl',
  );
  const client = (await bare.Client.find('public')) as Untyped;
  const record = pushedRecord(client, parameters, { issuer, clientId: 'public', iat: 1_000 });
  const claims = {
    client_id: 'public',
    scope: 'openid',
    dpop_jkt: 'thumbprint',
    iss: 'public',
    aud: issuer,
    iat: 1_000,
    nbf: 1_000,
    exp: 1_060,
  };
  expect(record).toEqual({ iat: 1_000, request: claims, dpopJkt: 'thumbprint', trusted: client.clientAuthMethod !== 'none' });
  expect((bare as Untyped).PushedAuthorizationRequest.IN_PAYLOAD).toEqual(expect.arrayContaining(Object.keys(record)));
});

test('a request that is kept as one that was pushed is found by its id, and is what was given', async () => {
  const iat = Math.floor(Date.now() / 1000);
  const id = await keepAsPushed(bare as Untyped, parameters, { issuer, clientId: 'public', iat });
  const { request, trusted } = await (bare as Untyped).PushedAuthorizationRequest.find(id);
  expect([decodeJwt(request), trusted]).toEqual([
    { client_id: 'public', scope: 'openid', dpop_jkt: 'thumbprint', iss: 'public', aud: issuer, iat, nbf: iat, exp: iat + 60 },
    undefined,
  ]);
});
