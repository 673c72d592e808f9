/** The OpenID Foundation's plan fapi-ciba-id1-test-plan, by the names of its modules: discovery, and clients that make no mistake. */
import { createHash } from 'node:crypto';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { type CibaAnswer, callsTo, laterInTest, useCallCentre } from '../../support/client/ciba/call-centre.js';
import {
  createPlanClient,
  expectError,
  expectPending,
  type PlanClient,
  planCalls,
  planOptions,
  ways,
} from '../../support/client/ciba/ciba-plan.js';
import { backToPresent } from '../../support/time/clock.js';

const first = await createPlanClient('first');
const second = await createPlanClient('second');
const bob = 'bob@globex.test';
afterEach(backToPresent);

describe.each(ways)('fapi-ciba-id1-test-plan, $way', (way) => {
  const service = useCallCentre(planOptions(way, [first, second]));
  const calls = () => planCalls(service.issuer, way);
  const people = () => callsTo(service);

  /** Returns the `auth_req_id` of a request that was acknowledged. */
  const acknowledged = ({ status, headers, json }: CibaAnswer): string => {
    expect([status, json.error]).toEqual([200, undefined]);
    expect(headers.get('content-type')).toMatch(/^application\/json\b/);
    // 43 characters of base64url are the 256 bits of a secret.
    expect(json.auth_req_id).toMatch(/^[\w.-]{43,}$/);
    expect([json.expires_in > 0, json.interval]).toEqual([true, 5]);
    return json.auth_req_id;
  };
  const tokensOf = async (client: PlanClient, { status, headers, json }: CibaAnswer) => {
    expect([status, json.token_type, headers.get('cache-control'), headers.get('pragma')]).toEqual([200, 'Bearer', 'no-store', 'no-cache']);
    expect(json.expires_in).toBeGreaterThan(0);
    expect(json.access_token.length).toBeGreaterThanOrEqual(22);
    const keys = createRemoteJWKSet(new URL(`${service.issuer}/.well-known/openid-configuration/jwks`));
    const { payload, protectedHeader } = await jwtVerify(json.id_token, keys, { issuer: service.issuer, audience: client.id });
    expect([protectedHeader.alg, protectedHeader.kid]).toEqual(['ES256', expect.any(String)]);
    expect([payload.c_hash, payload.s_hash, payload.nonce]).toEqual([undefined, undefined, undefined]);
    expect([payload.sub, payload.auth_time]).toEqual([expect.any(String), expect.any(Number)]);
    const half = createHash('sha256').update(json.access_token).digest().subarray(0, 16).toString('base64url');
    expect([undefined, half]).toContain(payload.at_hash);
    return { tokens: json, claims: payload };
  };
  /** Approves as the plan does: two polls, the interval between the polls, then the approval. */
  const approved = async (client: PlanClient, authReqId: string) => {
    expectPending(await calls().poll(client, authReqId));
    laterInTest(5);
    expectPending(await calls().poll(client, authReqId));
    await people().approve(bob);
    laterInTest(10);
    return tokensOf(client, await calls().poll(client, authReqId));
  };
  const userinfoOf = async (client: PlanClient, accessToken: string, headers?: Record<string, string>) =>
    (await calls().userinfo(client, accessToken, headers)).status;

  test('fapi-ciba-id1-discovery-end-point-verification', async () => {
    const response = await fetch(`${service.issuer}/.well-known/openid-configuration`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, expect.stringMatching(/^application\/json\b/)]);
    expect(await response.json()).toMatchObject({
      issuer: service.issuer,
      backchannel_authentication_endpoint: calls().urls.ciba,
      token_endpoint: calls().urls.token,
      jwks_uri: expect.stringContaining(service.issuer),
      grant_types_supported: expect.arrayContaining(['urn:openid:params:grant-type:ciba', 'refresh_token']),
      backchannel_token_delivery_modes_supported: expect.arrayContaining(['poll', 'ping']),
      backchannel_authentication_request_signing_alg_values_supported: expect.arrayContaining(['PS256', 'ES256']),
      backchannel_user_code_parameter_supported: false,
      id_token_signing_alg_values_supported: expect.arrayContaining(['ES256']),
      token_endpoint_auth_methods_supported: expect.arrayContaining([way.method]),
      token_endpoint_auth_signing_alg_values_supported: expect.arrayContaining(['PS256', 'ES256']),
      ...(way.isBound ? { tls_client_certificate_bound_access_tokens: true } : {}),
    });
  });

  test('fapi-ciba-id1', async () => {
    const byIssuer = await calls().credentials(first, service.issuer);
    const { tokens } = await approved(first, acknowledged(await calls().ask(first, {}, { by: byIssuer })));
    for (const accept of ['application/json; charset=utf-8', 'application/json, application/*+json, */*'])
      expect(await userinfoOf(first, tokens.access_token, { accept })).toBe(200);
    const inQuery = await fetch(`${calls().urls.userinfo}?access_token=${tokens.access_token}`, { headers: first.certificate });
    expect([400, 401]).toContain(inQuery.status);

    const byToken = await calls().credentials(second, calls().urls.token);
    const id = acknowledged(
      await calls().ask(second, { requested_expiry: 300, acr_values: 'pwd' }, { by: byToken, header: { typ: 'oauth-authz-req+jwt' } }),
    );
    const { tokens: others, claims } = await approved(second, id);
    expect(claims.acr).toBe('pwd');
    expect(await userinfoOf(second, others.access_token)).toBe(200);
    expect(await userinfoOf(first, others.access_token)).toBe(way.isBound ? 401 : 200);
    expectError(await calls().poll(second, id), 'invalid_grant');
  });

  test('fapi-ciba-id1-user-rejects-authentication', async () => {
    const id = acknowledged(await calls().ask(first));
    expectPending(await calls().poll(first, id));
    await people().deny(bob);
    expectError(await calls().poll(first, id), 'access_denied');
  });

  test('fapi-ciba-id1-multiple-call-to-token-endpoint', async () => {
    const id = acknowledged(await calls().ask(first));
    for (let count = 0; count < 20; count += 1) expectPending(await calls().poll(first, id));
    expectError(await calls().poll(first, id), 'slow_down');
  });

  test('fapi-ciba-id1-auth-req-id-expired', async () => {
    const answer = await calls().ask(first, { requested_expiry: 10 });
    const id = acknowledged(answer);
    expect(answer.json.expires_in).toBe(10);
    expectPending(await calls().poll(first, id));
    laterInTest(5);
    expectPending(await calls().poll(first, id));
    laterInTest(11);
    expectError(await calls().poll(first, id), 'expired_token');
  });

  test('fapi-ciba-id1-ensure-authorization-request-with-binding-message-succeeds', async () => {
    const id = acknowledged(await calls().ask(first, { binding_message: '1234' }));
    expect(await people().newestOf(bob)).toMatchObject({ clientId: 'first', bindingMessage: '1234' });
    await approved(first, id);
  });

  test('fapi-ciba-id1-ensure-other-scope-order-succeeds', async () => {
    const { tokens } = await approved(first, acknowledged(await calls().ask(first, { scope: 'email profile openid' })));
    expect(tokens.scope.split(' ').sort()).toEqual(['email', 'openid', 'profile']);
  });

  test('fapi-ciba-id1-ensure-requested-expiry-as-string-succeeds', async () => {
    const answer = await calls().ask(first, { requested_expiry: '30' });
    expect(answer.json.expires_in).toBe(30);
    await approved(first, acknowledged(answer));
  });

  test('fapi-ciba-id1-ensure-authorization-request-with-potentially-bad-binding-message', async () => {
    const message = `4321 \u{1F44B}\u{1F3FD} 東京 ${'as the person reads it, so the agent says it: '.repeat(8)}`;
    expectError(await calls().ask(first, { binding_message: message }), 'invalid_binding_message');
    const shown = [...message].slice(0, 256).join('');
    const id = acknowledged(await calls().ask(first, { binding_message: shown }));
    expect(await people().newestOf(bob)).toMatchObject({ bindingMessage: shown });
    await approved(first, id);
  });

  test('fapi-ciba-id1-refresh-token', async () => {
    const refreshed = async (client: PlanClient) => {
      const scope = 'openid offline_access';
      const { tokens, claims } = await approved(client, acknowledged(await calls().ask(client, { scope })));
      expect(tokens.refresh_token).toMatch(/^[\x20-\x7E]{22,}$/);
      laterInTest(20);
      const again = await tokensOf(client, await calls().refresh(client, tokens.refresh_token));
      const { iss, sub, aud, auth_time, azp } = claims;
      expect({ azp: undefined, ...again.claims }).toMatchObject({ iss, sub, aud, auth_time, azp });
      expect(again.claims.iat).toBeGreaterThan(Number(claims.iat));
      expect(again.tokens.access_token).not.toBe(tokens.access_token);
      expect(await userinfoOf(client, again.tokens.access_token)).toBe(200);
      laterInTest(0);
      return again.tokens.refresh_token ?? tokens.refresh_token;
    };
    await refreshed(first);
    laterInTest(30);
    expectError(await calls().refresh(first, await refreshed(second)), 'invalid_grant');
  });
});
