/** Sign-ins of a host's own tests: `signIn` of `tenant-idp/testing`. */
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { signIn } from 'tenant-idp/testing';
import { redirectUri } from '../support/service/seed.js';
import { useIdp } from '../support/service/use-idp.js';

const user = { userName: 'alice@acme.test', password: 'alice' };
const web = { id: 'web', secret: 'web-secret' };

describe('a sign-in in a test of a host', () => {
  const service = useIdp();

  test('returns the tokens of a confidential client, with the scopes that it asked for', async () => {
    const tokens = await signIn(service.idp, { client: { ...web, redirectUri }, user, scope: 'openid email offline_access' });
    expect(tokens).toMatchObject({ token_type: 'Bearer', refresh_token: expect.any(String), scope: 'openid email offline_access' });
    expect(decodeJwt(tokens.id_token ?? '')).toMatchObject({ aud: 'web', iss: service.issuer });
  });

  test('returns the tokens of a public client', async () => {
    expect(await signIn(service.idp, { client: { id: 'spa' }, user })).toHaveProperty('id_token');
  });

  test('allows what a client asks consent for', async () => {
    const client = { id: 'third-party', secret: 'third-secret' };
    expect(await signIn(service.idp, { client, user, parameters: { prompt: 'consent' } })).toHaveProperty('access_token');
  });

  test.each([
    [
      'a wrong password',
      { user: { ...user, password: 'wrong' } },
      /stopped at \/idp\/interaction\/\S+, which answered 4\d\d: .*: That e-mail and password/,
    ],
    ['an unknown client', { client: { id: 'unknown' } }, /There is no client unknown/],
    ['a wrong secret', { client: { ...web, secret: 'wrong' } }, /token endpoint answered 401: .*invalid_client/],
    ['a scope that the client does not have', { scope: 'openid nonsense' }, /no code: invalid_scope, /],
    [
      'a redirect URI that is not registered',
      { client: { ...web, redirectUri: 'http://localhost/another' } },
      /stopped at \/connect\/authorize, which answered 400: /,
    ],
  ] as const)('says what stopped it: %s', async (_, given, message) => {
    await expect(signIn(service.idp, { client: web, user, ...given })).rejects.toThrow(message);
  });
});
