import { describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { logoutToken } from '../../../lib/oidc/upstream/id-token.js';
import { bare, clock, expectInOrder, hooked, issuer, source } from './pinned.js';

describe('ID token hints', () => {
  test('validate is a static of two arguments, called on the class at authorize and at end session', async () => {
    expect(Object.getOwnPropertyDescriptor(bare.IdToken, 'validate')).toMatchObject({ writable: true, value: expect.any(Function) });
    expect(bare.IdToken.validate).toHaveLength(2);
    expectInOrder('actions/end_session.js', 'ctx.oidc.provider.IdToken.validate(params.id_token_hint, client)');
    expect(source('actions/authorization/claims.js')).toMatch(/IdToken\.validate\(/);
    const header = Buffer.from('{"alg":"RS256","typ":"logout+jwt"}').toString('base64url');
    await expect(hooked.IdToken.validate(`${header}.e30.x`, await hooked.Client.find('public'))).rejects.toThrow('not an ID token');
  });

  test('an ID token is issued without typ, and of the others only userinfo and authorization responses; oidc-provider adds no sid to any', () => {
    const text = source('models/id_token.js').split('async issue(')[1] ?? '';
    const uses = [...text.matchAll(/case '(\w+)':([\s\S]*?)break;/g)].map(([, use, body = '']) => [use, /typ: '([^']+)'/.exec(body)?.[1]]);
    expect(uses).toEqual([
      ['idtoken', undefined],
      ['logout', 'logout+jwt'],
      ['userinfo', undefined],
      ['introspection', 'token-introspection+jwt'],
      ['authorization', undefined],
    ]);
    expect(text).not.toMatch(/\bsid\b/);
  });
});

test('a logout token is an ID token issued for that use, with the claims that are set on it', async () => {
  expectInOrder('models/client.js', "'http://schemas.openid.net/event/backchannel-logout'", "logoutToken.issue({ use: 'logout' })");
  const jwt = await logoutToken(hooked, await hooked.Client.find('sector'), { sub: 'as it is', sid: 'session' });
  expect(decodeProtectedHeader(jwt)).toMatchObject({ typ: 'logout+jwt', alg: 'RS256' });
  const { exp = 0, iat = 0, ...claims } = decodeJwt(jwt);
  expect(exp - iat).toBe(120);
  expect(claims).toEqual({
    iss: issuer,
    aud: 'sector',
    sub: 'as it is',
    sid: 'session',
    jti: expect.any(String),
    events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
  });
});

test('a hint is validated where the request comes in, and not where it is resumed', () => {
  expectInOrder('actions/authorization/index.js', 'use(checkIdTokenHint, ', 'A, DA, ', 'PAR');
  expect(source('actions/authorization/index.js')).toMatch(/use\(checkIdTokenHint, +A, DA, +PAR +\);/);
  expectInOrder('actions/authorization/claims.js', "ctx.oidc.entity('IdTokenHint', idTokenHint)");
});

test('a signed response is what an IdToken issues for `authorization`', () => {
  expectInOrder(
    'response_modes/jwt.js',
    'new IdToken({}, { ctx })',
    'token.extra = payload',
    "await token.issue({ use: 'authorization' })",
    'modes[mode](ctx, redirectUri, { response })',
  );
  expectInOrder(
    'models/id_token.js',
    'this.extra',
    'async issue(',
    'await this.payload()',
    "case 'authorization':",
    'audience: client.clientId',
    'issuer: provider.issuer',
    'noIat: true',
  );
});

test('L6: each JWT of the class takes the times of its claims: `iat` is kept, `exp` is assigned by the clock of the node', async () => {
  expectInOrder(
    'helpers/jwt.js',
    'const timestamp = epochTime()',
    'Object.assign(payload, {',
    'exp: options.expiresIn !== undefined ? timestamp + options.expiresIn : payload.exp',
    'iat: payload.iat !== undefined ? payload.iat : iat',
    'JSON.stringify(payload)',
  );
  expectInOrder('models/id_token.js', 'const payload = await this.payload()', 'return JWT.sign(payload, key, alg, signOptions)');
  const real = clock.now;
  clock.now = () => Date.now() - 20_000;
  try {
    const jwt = await logoutToken(hooked, await hooked.Client.find('sector'), { sub: 'as it is', sid: 'session' });
    const { exp = 0, iat = 0 } = decodeJwt(jwt);
    expect([Math.abs(iat - clock.now() / 1000) < 2, exp - iat]).toEqual([true, 120]);
  } finally {
    clock.now = real;
  }
});
