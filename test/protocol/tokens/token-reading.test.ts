import { beforeAll, describe, expect, test } from '@jest/globals';
import { SignJWT } from 'jose';
import { Agent, type Json, obtainTokens, postForm } from '../../support/client/agent.js';
import { authorizationOf, introspect, isActive, obtainCode, redeem, refresh, revoke, userinfo } from '../../support/client/steps.js';
import { expectNothingInternal, expectQuietLog } from '../../support/service/leaks.js';
import { useIdp } from '../../support/service/use-idp.js';

const alice = new Agent();
const service = useIdp();
beforeAll(async () => {
  await obtainCode(service.issuer, alice);
});

const scope = 'openid profile offline_access orders.read';
const tokensOf = async (client: string, more: Record<string, string> = {}): Promise<Json> =>
  (await redeem(service.issuer, await obtainCode(service.issuer, alice, client, { scope, ...more }))).json;
const serviceToken = async (): Promise<string> =>
  (await postForm(`${service.issuer}/connect/token`, { grant_type: 'client_credentials' }, authorizationOf('service'))).json.access_token;

const inactive = '{"active":false}';

describe('E1: a token is read by its client and by the APIs it opens', () => {
  const callers = ['web', 'jwt', 'third-party', 'service', 'orders', 'invoices'];
  test.each([
    ['an access token', 'web', (tokens: Json) => tokens.access_token, ['web', 'orders']],
    ['a signed access token', 'jwt', (tokens: Json) => tokens.access_token, ['jwt', 'orders']],
    ['a refresh token', 'web', (tokens: Json) => tokens.refresh_token, ['web']],
    ['an ID token', 'web', (tokens: Json) => tokens.id_token, []],
  ])('E1: %s of %s', async (_name, client, pick, readers) => {
    const token = pick(await tokensOf(client));
    for (const caller of callers) {
      const { text, status } = await introspect(service.issuer, token, caller);
      expect({ caller, status, active: text !== inactive }).toEqual({ caller, status: 200, active: readers.includes(caller) });
    }
  });

  test('E1: a token of a service, and one without an API', async () => {
    const own = await serviceToken();
    const identity = (await tokensOf('web', { scope: 'openid' })).access_token;
    for (const caller of callers) {
      expect({ caller, active: await isActive(service.issuer, own, caller) }).toEqual({
        caller,
        active: ['service', 'orders'].includes(caller),
      });
      expect({ caller, active: await isActive(service.issuer, identity, caller) }).toEqual({ caller, active: caller === 'web' });
    }
  });

  test('E1: who does not authenticate, or is public, reads nothing', async () => {
    const { access_token: token } = await tokensOf('web');
    const answers = [
      await postForm(`${service.issuer}/connect/introspect`, { token }),
      await postForm(`${service.issuer}/connect/introspect`, { token, client_id: 'web' }),
      await postForm(`${service.issuer}/connect/introspect`, { token }, { authorization: `Bearer ${token}` }),
    ];
    for (const { status, text } of answers) {
      expect([400, 401]).toContain(status);
      expectNothingInternal(text, [token, 'Alice']);
    }
    const { tokens } = await obtainTokens(service.issuer, { agent: alice, client: 'spa', secret: '' });
    expect((await postForm(`${service.issuer}/connect/introspect`, { token: tokens.access_token, client_id: 'spa' })).text).toBe(inactive);
  });

  test('E1: introspection by GET tells nothing', async () => {
    const { access_token: token } = await tokensOf('web');
    const response = await fetch(`${service.issuer}/connect/introspect?token=${token}`, { headers: authorizationOf('web') });
    expect(response.status).toBe(405);
  });
});

describe('E2: all that is not to be read looks the same', () => {
  test('E2: unknown, revoked, foreign, spent, JWT-shaped and oversized tokens get the same bytes', async () => {
    const [revoked, signed, foreign, spent] = [await tokensOf('web'), await tokensOf('jwt'), await tokensOf('jwt'), await tokensOf('web')];
    await revoke(service.issuer, revoked.access_token);
    await refresh(service.issuer, spent.refresh_token);
    const [header, payload, signature] = signed.access_token.split('.');
    const forged = await new SignJWT({ jti: 'x', iss: service.issuer })
      .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: 'test-rs256' })
      .sign(new Uint8Array(32));
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const unreadable = {
      unknown: 'A'.repeat(44),
      'another kind': revoked.access_token.replace(/^(.{11})./, '$1r'),
      revoked: revoked.access_token,
      'of another client': foreign.access_token,
      'of another client, refresh': foreign.refresh_token,
      'an ID token': signed.id_token,
      'a signed one, tampered': `${header}.${Buffer.from(JSON.stringify({ ...claims, scope: 'openid orders.write' })).toString('base64url')}.${signature}`,
      'a signed one, unsigned': `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')}.${payload}.`,
      'a signed one, with another key': forged,
      'the jti of a signed one': claims.jti,
      'JWT-shaped': 'a.b.c',
      'JWE-shaped': 'a.b.c.d.e',
      dots: '...',
      'our own wrapping': `jwt~${Buffer.from(signed.id_token).toString('base64url')}`,
      'wrapped nothing': 'jwt~',
      'white space': ' ',
      'control characters': '\0\r\n',
      'not ASCII': 'ø'.repeat(44),
      long: 'A'.repeat(20_000),
      __proto__: '__proto__',
    };
    for (const caller of ['web', 'orders']) {
      for (const [name, token] of Object.entries(unreadable)) {
        if (caller === 'orders' && name === 'of another client') continue;
        for (const hint of ['', 'access_token', 'refresh_token', 'bogus']) {
          const { status, text } = await postForm(
            `${service.issuer}/connect/introspect`,
            { token, ...(hint ? { token_type_hint: hint } : {}) },
            authorizationOf(caller),
          );
          expect({ caller, name, hint, status, text }).toEqual({ caller, name, hint, status: 200, text: inactive });
        }
        expect({ name, answer: await revoke(service.issuer, token, caller) }).toMatchObject({ name, answer: { status: 200, text: '' } });
      }
    }
    expect(await isActive(service.issuer, foreign.access_token, 'jwt')).toBe(true);
  });

  test('E2: the jti of what was read is no token', async () => {
    for (const client of ['web', 'jwt']) {
      const { access_token: token } = await tokensOf(client);
      const { json } = await introspect(service.issuer, token, client);
      expect(json).toMatchObject({ active: true, jti: expect.any(String) });
      expect(json.jti).not.toBe(token);
      expect((await introspect(service.issuer, json.jti, client)).text).toBe(inactive);
      expect((await userinfo(service.issuer, json.jti)).status).toBe(401);
    }
  });
});

describe('E5: nobody revokes what is not theirs', () => {
  test('E5: another client, an API and a stranger change nothing', async () => {
    for (const owner of ['web', 'jwt']) {
      const tokens = await tokensOf(owner);
      for (const caller of ['third-party', 'service', 'orders', owner === 'web' ? 'jwt' : 'web'])
        for (const token of [tokens.access_token, tokens.refresh_token])
          expect(await revoke(service.issuer, token, caller)).toMatchObject({ status: 200, text: '' });
      expect((await postForm(`${service.issuer}/connect/revocation`, { token: tokens.refresh_token })).status).toBe(401);
      expect((await postForm(`${service.issuer}/connect/revocation`, { token: tokens.refresh_token, client_id: 'spa' })).text).toBe('');
      for (const token of [tokens.access_token, tokens.refresh_token]) expect(await isActive(service.issuer, token, owner)).toBe(true);
    }
  });

  test('E5: a refresh token takes its family along', async () => {
    for (const owner of ['web', 'jwt']) {
      const first = await tokensOf(owner);
      const second = (await refresh(service.issuer, first.refresh_token, owner)).json;
      await revoke(service.issuer, second.refresh_token, owner);
      for (const token of [first.access_token, second.access_token, second.refresh_token])
        expect(await isActive(service.issuer, token, owner)).toBe(false);
      expect((await userinfo(service.issuer, second.access_token)).status).toBe(401);
      expect((await refresh(service.issuer, second.refresh_token, owner)).json.error).toBe('invalid_grant');
    }
  });
});

describe('E7: userinfo takes access tokens that a user gave with openid', () => {
  test('E7: nothing else', async () => {
    const tokens = await tokensOf('web');
    const withoutOpenid = (await tokensOf('web', { scope: 'orders.read' })).access_token;
    const code = await obtainCode(service.issuer, alice);
    const wrong: Record<string, [string, number, string]> = {
      'of a service': [await serviceToken(), 401, 'invalid_token'],
      'without openid': [withoutOpenid, 403, 'insufficient_scope'],
      'a refresh token': [tokens.refresh_token, 401, 'invalid_token'],
      'an ID token': [tokens.id_token, 401, 'invalid_token'],
      'a code': [code.code, 401, 'invalid_token'],
      unknown: ['A'.repeat(44), 401, 'invalid_token'],
      empty: ['', 400, 'invalid_request'],
    };
    for (const [name, [token, status, error]] of Object.entries(wrong)) {
      const answer = await userinfo(service.issuer, token);
      expect({ name, status: answer.status, error: answer.json.error }).toEqual({ name, status, error });
      expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer /);
    }
    expect((await userinfo(service.issuer, tokens.access_token)).json).toMatchObject({ sub: expect.any(String), given_name: 'Alice' });
  });

  test('E7: not in the query, not twice, not by another scheme', async () => {
    const { access_token: token } = await tokensOf('web');
    const url = `${service.issuer}/connect/userinfo`;
    const answers = [
      await fetch(`${url}?access_token=${token}`),
      await fetch(url, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-www-form-urlencoded' },
        body: `access_token=${token}`,
      }),
      await fetch(url, { headers: authorizationOf('web') }),
      await fetch(url, { headers: { authorization: `DPoP ${token}` } }),
      await fetch(url),
    ];
    for (const response of answers) {
      expect([400, 401]).toContain(response.status);
      expect(await response.text()).not.toContain('Alice');
    }
  });
});

test('E1–E7 leave nothing in the log', () => expectQuietLog(service));
