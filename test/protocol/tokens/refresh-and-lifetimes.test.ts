/** Service specification 4.4: refresh tokens. Design §10: lifetimes of tokens. */
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import * as openid from 'openid-client';
import { authorizeUrl, createPkce, obtainTokens } from '../../support/client/agent.js';
import { type Endpoints, endpointsOf, isActive } from '../../support/client/endpoints.js';
import { discover } from '../../support/client/relying-party.js';
import { redirectUri } from '../../support/service/seed.js';
import { useIdp } from '../../support/service/use-idp.js';
import { backToPresent, passTime } from '../../support/time/clock.js';

/** Seconds of a session: an hour more than the lifetime of an access token, so that a test sees the session end a token. */
const sessionAbsolute = 7200;
let endpoints: Endpoints;
const service = useIdp({ lifetimes: { sessionAbsolute } });
beforeAll(() => {
  endpoints = endpointsOf(service.issuer);
});

afterEach(backToPresent);

const offline = { scope: 'openid offline_access' };
const invalidGrant = { status: 400, json: { error: 'invalid_grant' } };

describe('4.4 refresh tokens', () => {
  test('4.4 none without offline_access', async () => {
    const { tokens } = await obtainTokens(service.issuer);
    expect(tokens).not.toHaveProperty('refresh_token');
  });

  test('4.4 offline_access without a consent page for first-party clients, whatever the prompt', async () => {
    const { tokens, agent } = await obtainTokens(service.issuer, offline);
    expect(tokens).toMatchObject({ refresh_token: expect.any(String), scope: 'openid offline_access' });
    const again = await obtainTokens(service.issuer, { agent, prompt: 'login', ...offline });
    expect(again.tokens).toMatchObject({ refresh_token: expect.any(String) });
  });

  test('4.4 a client library refreshes; the new ID token is of the same subject, client, session and sign-in', async () => {
    const { tokens } = await obtainTokens(service.issuer, { scope: 'openid profile offline_access' });
    const party = await discover(service.issuer);
    const refreshed = await openid.refreshTokenGrant(party, tokens.refresh_token);
    const { iss, sub, aud, tid, sid, auth_time, amr, idp } = decodeJwt(tokens.id_token);
    expect(refreshed.claims()).toMatchObject({ iss, sub, aud, tid, sid, auth_time, amr, idp });
    expect(refreshed.access_token).not.toBe(tokens.access_token);
  });

  test('4.4 scope may be narrowed, not widened', async () => {
    const { tokens } = await obtainTokens(service.issuer, { scope: 'openid profile offline_access' });
    const refresh = (scope: string, refreshToken: string) =>
      endpoints.token({ grant_type: 'refresh_token', refresh_token: refreshToken, scope });
    for (const scope of ['openid email', 'openid nonsense', 'openid invoices.read'])
      expect(await refresh(scope, tokens.refresh_token)).toMatchObject({ status: 400, json: { error: 'invalid_scope' } });
    expect(await refresh('openid', tokens.refresh_token)).toMatchObject({ status: 200, json: { scope: 'openid' } });
  });

  test('design §5: each refresh gives a new refresh token; a retry within the grace gives the same one again', async () => {
    const { tokens } = await obtainTokens(service.issuer, offline);
    const first = await endpoints.refresh(tokens.refresh_token);
    expect(first.json.refresh_token).not.toBe(tokens.refresh_token);
    passTime(5);
    const retry = await endpoints.refresh(tokens.refresh_token);
    expect(retry.json.refresh_token).toBe(first.json.refresh_token);
    expect(retry.json.access_token).not.toBe(first.json.access_token);
    expect(await endpoints.refresh(first.json.refresh_token)).toMatchObject({ status: 200 });
  });

  test('design §5: a replay after the grace ends the family', async () => {
    const { tokens } = await obtainTokens(service.issuer, offline);
    const { json } = await endpoints.refresh(tokens.refresh_token);
    passTime(11);
    expect(await endpoints.refresh(tokens.refresh_token)).toMatchObject(invalidGrant);
    expect(await endpoints.refresh(json.refresh_token)).toMatchObject(invalidGrant);
    expect(await isActive(endpoints, json.access_token)).toBe(false);
  });

  test('design §5: the grace is for the immediate predecessor: an older token ends the family at once', async () => {
    const { tokens } = await obtainTokens(service.issuer, offline);
    const second = (await endpoints.refresh(tokens.refresh_token)).json;
    const third = (await endpoints.refresh(second.refresh_token)).json;
    expect(await endpoints.refresh(tokens.refresh_token)).toMatchObject(invalidGrant);
    expect(await endpoints.refresh(third.refresh_token)).toMatchObject(invalidGrant);
    expect(await isActive(endpoints, third.access_token)).toBe(false);
  });

  test('4.4 a refresh token is of no use to another client, and that attempt harms nobody', async () => {
    const { tokens } = await obtainTokens(service.issuer, offline);
    expect(await endpoints.refresh(tokens.refresh_token, 'jwt')).toMatchObject(invalidGrant);
    expect(await endpoints.refresh(tokens.refresh_token)).toMatchObject({ status: 200 });
  });

  test('design §10: idle and absolute end', async () => {
    const day = 86_400;
    const { tokens } = await obtainTokens(service.issuer, offline);
    passTime(14 * day);
    const second = (await endpoints.refresh(tokens.refresh_token)).json;
    passTime(28 * day);
    const third = (await endpoints.refresh(second.refresh_token)).json;
    expect(third).toMatchObject({ refresh_token: expect.any(String) });
    passTime(30 * day + 1);
    expect(await endpoints.refresh(third.refresh_token)).toMatchObject(invalidGrant);
  });

  test('design §10: one that is not used for fifteen days ends', async () => {
    const { tokens } = await obtainTokens(service.issuer, offline);
    passTime(15 * 86_400 + 1);
    expect(await endpoints.refresh(tokens.refresh_token)).toMatchObject(invalidGrant);
  });
});

describe('design §10: lifetimes', () => {
  test('design §10: a client may have its own', async () => {
    await service.idp.directory.clients.create({
      id: 'brief',
      name: 'Brief',
      secret: 'brief-secret',
      metadata: { redirect_uris: [redirectUri], grant_types: ['authorization_code', 'refresh_token'] },
      allowedScopes: ['openid'],
      lifetimes: { accessToken: 120, idToken: 60, refreshTokenIdle: 100, refreshTokenAbsolute: 200 },
    });
    const { tokens } = await obtainTokens(service.issuer, { client: 'brief', secret: 'brief-secret', ...offline });
    const { exp = 0, iat = 0 } = decodeJwt(tokens.id_token);
    expect([tokens.expires_in, exp - iat]).toEqual([120, 60]);
    passTime(90);
    const second = (await endpoints.refresh(tokens.refresh_token, 'brief')).json;
    passTime(180);
    const third = (await endpoints.refresh(second.refresh_token, 'brief')).json;
    expect(third.expires_in).toBeLessThanOrEqual(20);
    passTime(201);
    expect(await endpoints.refresh(third.refresh_token, 'brief')).toMatchObject(invalidGrant);
  });

  test('design §10: of whatever endpoint and grant the token is', async () => {
    const metadata = {
      redirect_uris: [redirectUri],
      response_types: ['code', 'id_token token'],
      grant_types: ['authorization_code', 'implicit', 'client_credentials'],
    };
    for (const accessTokenType of ['reference', 'jwt'] as const) {
      const id = `brief-${accessTokenType}`;
      await service.idp.directory.clients.create({
        id,
        name: 'Brief',
        secret: `${id}-secret`,
        metadata,
        accessTokenType,
        allowedScopes: ['openid', 'orders.read'],
        lifetimes: { accessToken: 77, idToken: 33 },
      });
      const { agent, tokens } = await obtainTokens(service.issuer, { client: id, secret: `${id}-secret` });
      const implicit = { client_id: id, response_type: 'id_token token', nonce: 'n' };
      const { location = '' } = await agent.get(authorizeUrl(service.issuer, implicit));
      const response = Object.fromEntries(new URLSearchParams(new URL(location).hash.slice(1)));
      const lifeOf = async (token: string) => {
        const { exp, iat } = (await endpoints.introspect(token, id)).json;
        return exp - iat;
      };
      const own = await endpoints.clientCredentials(undefined, id);
      for (const { access_token: token, expires_in: seconds } of [tokens, response, own])
        expect([Number(seconds), await lifeOf(token)]).toEqual([77, 77]);
      for (const { id_token: token } of [tokens, response]) {
        const { exp = 0, iat = 0 } = decodeJwt(token);
        expect(exp - iat).toBe(33);
      }
    }
  });

  test('design §10: an access token lives an hour, as a JWT ten minutes', async () => {
    const { agent, tokens } = await obtainTokens(service.issuer);
    expect(tokens.expires_in).toBe(3600);
    expect((await obtainTokens(service.issuer, { agent, client: 'jwt', secret: 'jwt-secret' })).tokens.expires_in).toBe(600);
    passTime(3590);
    expect(await isActive(endpoints, tokens.access_token)).toBe(true);
    passTime(3601);
    expect(await isActive(endpoints, tokens.access_token)).toBe(false);
  });

  test('design §3: without offline_access no token outlives the absolute end of the session; with it they do', async () => {
    const { agent } = await obtainTokens(service.issuer);
    passTime(3000);
    await obtainTokens(service.issuer, { agent });
    passTime(6000);
    const online = (await obtainTokens(service.issuer, { agent, client: 'jwt', secret: 'jwt-secret' })).tokens;
    const { tokens } = await obtainTokens(service.issuer, { agent });
    expect(tokens.expires_in).toBeLessThanOrEqual(1200);
    expect(tokens.expires_in).toBeGreaterThan(1100);
    const lasting = (await obtainTokens(service.issuer, { agent, ...offline })).tokens;
    passTime(sessionAbsolute + 1);
    expect(await Promise.all([isActive(endpoints, tokens.access_token), isActive(endpoints, online.access_token, 'jwt')])).toEqual([
      false,
      false,
    ]);
    expect(await endpoints.refresh(lasting.refresh_token)).toMatchObject({ status: 200 });
    const { location = '' } = await agent.get(
      authorizeUrl(service.issuer, { prompt: 'none', code_challenge: createPkce().challenge, code_challenge_method: 'S256' }),
    );
    expect(new URL(location).searchParams.get('error')).toBe('login_required');
  });
});

test('4.4 nothing here is worth a line in the log', () => {
  expect(service.logged).toEqual([]);
});
