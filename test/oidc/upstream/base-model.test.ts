import { describe, expect, test } from '@jest/globals';
import Provider from 'oidc-provider';
import { bare, clock, expectInOrder, hooked } from './pinned.js';

describe('records', () => {
  test('IN_PAYLOAD, a static getter, says what a record keeps', () => {
    for (const kind of ['Session', 'Grant', 'AccessToken', 'ClientCredentials'])
      expect(bare[kind].IN_PAYLOAD).toEqual(expect.arrayContaining(['iat', 'exp', 'jti', 'kind']));
    expect(new bare.Session({ idp: 'x', acr: 'y' })).not.toHaveProperty('idp');
    expect(new hooked.Session({ idp: 'x', acr: 'y', other: 'z' })).toMatchObject({ idp: 'x', acr: 'y' });
    expect(new hooked.Session({ other: 'z' })).not.toHaveProperty('other');
    expect(new hooked.Grant({ login: { sub: 's' }, other: 'z' })).toMatchObject({ login: { sub: 's' } });
    expect(new hooked.AccessToken({ structured: true })).toMatchObject({ structured: true });
  });

  test('their kind is the name of their class', () => {
    for (const kind of ['Session', 'Grant', 'AccessToken', 'ClientCredentials', 'RefreshToken'])
      expect(new hooked[kind]({}).kind).toBe(kind);
  });

  test.each([
    ['Grant', 'g'],
    ['AuthorizationCode', 'k'],
    ['PushedAuthorizationRequest', 'p'],
    ['AccessToken', 'a'],
    ['ClientCredentials', 'c'],
    ['RefreshToken', 'r'],
  ])('save asks generateTokenId for the id of a %s, and writes it as opaque', async (kind, tag) => {
    const record = new hooked[kind]({ accountId: 'x', clientId: 'public' });
    if (kind !== 'PushedAuthorizationRequest') record.expiresIn = 60;
    const value = await record.save(60);
    expect(value).toMatch(new RegExp(`^[\\w-]{11}${tag}[\\w-]{32}$`));
    expect(record).toMatchObject({ jti: value, format: 'opaque' });
    expect(await hooked[kind].find(value)).toMatchObject({ jti: value, kind });
  });

  test.each([12, -12, 20, -20])(
    'L6: a refresh token that oidc-provider issues on a node that is %i s off was first issued in the shared time',
    async (ahead) => {
      expectInOrder('models/refresh_token.js', 'super(...args);', 'if (!this.iiat) {', 'this.iiat = this.iat || epochTime();', "'iiat',");
      expectInOrder('actions/grants/refresh_token.js', 'refreshToken = new RefreshToken({', 'iiat: refreshToken.iiat,');
      const now = clock.now;
      clock.now = () => Date.now() - ahead * 1000;
      try {
        const token = new hooked.RefreshToken({ accountId: 'x', clientId: 'public' });
        token.expiresIn = 60;
        const { iat, iiat } = await hooked.RefreshToken.find(await token.save(60));
        expect([iat, iiat].map((at) => Math.abs(at - clock.now() / 1000) < 2)).toEqual([true, true]);
      } finally {
        clock.now = now;
      }
      expect(new hooked.RefreshToken({ iat: 7 }).iiat).toBe(7);
      expect(Object.keys(new hooked.RefreshToken({ iat: 7, iiat: 5 }))).toContain('iiat');
      expect(new hooked.RefreshToken({ iat: 7, iiat: 5 }).iiat).toBe(5);
    },
  );

  test('tokens of one grant share its slot', () => {
    const grant = new hooked.Grant({ clientId: 'public', accountId: 'x' }).generateTokenId();
    expect(new hooked.AccessToken({ grantId: grant }).generateTokenId().slice(0, 11)).toBe(grant.slice(0, 11));
  });

  test.each(['Grant', 'AuthorizationCode', 'PushedAuthorizationRequest', 'RefreshToken', 'Session'])(
    'what is stored of a %s is what opaque.getValueAndPayload says',
    async (kind) => {
      const fields = {
        clientId: 'public',
        accountId: 'a',
        scope: 'openid',
        jti: 'x',
        exp: 4_000_000_000,
        grantId: 'g',
        nonce: undefined,
        unknown: 1,
      };
      const [ours, theirs] = await Promise.all(
        [hooked, bare].map(async (provider) => (await new provider[kind](fields).getValueAndPayload()).payload),
      );
      const { uid: _ours, ...our } = ours;
      const { uid: _theirs, ...their } = theirs;
      expect(our).toEqual(their);
      expect(our).toMatchObject({ kind, exp: 4_000_000_000 });
    },
  );

  test('Provider.ctx is the request being answered', () => {
    expect(Object.getOwnPropertyDescriptor(Provider, 'ctx')?.get).toEqual(expect.any(Function));
    expect(Provider.ctx).toBeUndefined();
  });

  test('a refresh token is rotated with its predecessor among the entities', () => {
    expectInOrder(
      'actions/grants/refresh_token.js',
      "ctx.oidc.entity('RotatedRefreshToken', refreshToken)",
      'refreshToken = new RefreshToken(',
      'await refreshToken.save()',
    );
  });
});
