/** The OpenID Foundation's plan fapi-ciba-id1-test-plan, by the names of its modules: the clients, and how the clients authenticate. */
import { afterEach, describe, expect, test } from '@jest/globals';
import { callsTo, useCallCentre } from '../../support/client/ciba/call-centre.js';
import { createPlanClient, expectError, expectPending, planCalls, planOptions, ways } from '../../support/client/ciba/ciba-plan.js';
import { backToPresent } from '../../support/time/clock.js';

const first = await createPlanClient('first');
const second = await createPlanClient('second');
const bob = 'bob@globex.test';
afterEach(backToPresent);

describe.each(ways)('fapi-ciba-id1-test-plan, $way', (way) => {
  const service = useCallCentre(planOptions(way, [first, second]));
  const calls = () => planCalls(service.issuer, way);
  const approve = () => callsTo(service).approve(bob);
  const asked = async (): Promise<string> => {
    const { status, json } = await calls().ask(first);
    expect([status, json]).toEqual([200, expect.objectContaining({ auth_req_id: expect.any(String) })]);
    return json.auth_req_id;
  };
  /** Checks that a refusal did not use up the request of the client. */
  const stillRedeems = async (authReqId: string) => {
    await approve();
    expect((await calls().poll(first, authReqId)).status).toBe(200);
  };
  const onlyId = (client = first) => ({ fields: { client_id: client.id }, headers: first.certificate });

  test('fapi-ciba-id1-ensure-wrong-auth-req-id-in-token-endpoint-request', async () => {
    const id = await asked();
    expectError(await calls().poll(second, id), 'invalid_grant');
    await stillRedeems(id);
  });

  if (way.method === 'private_key_jwt') {
    test('fapi-ciba-id1-ensure-without-client-assertion-in-token-endpoint-request', async () => {
      const id = await asked();
      expectError(await calls().poll(first, id, onlyId()), ['invalid_client', 'invalid_request'], [400, 401]);
      await stillRedeems(id);
    });

    test('fapi-ciba-id1-ensure-without-client-assertion-in-backchannel-authorization-request', async () => {
      expectError(await calls().ask(first, {}, { by: onlyId() }), ['invalid_client', 'invalid_request'], [400, 401]);
    });

    test('fapi-ciba-id1-ensure-client-assertion-signature-algorithm-in-backchannel-authorization-request-is-RS256-fails', async () => {
      const by = await calls().credentials(first, calls().urls.ciba, { alg: 'RS256' });
      expectError(await calls().ask(first, {}, { by }), 'invalid_client', [400, 401]);
    });

    test('fapi-ciba-id1-ensure-client-assertion-signature-algorithm-in-token-endpoint-request-is-RS256-fails', async () => {
      const id = await asked();
      const by = await calls().credentials(first, calls().urls.token, { alg: 'RS256' });
      expectError(await calls().poll(first, id, by), 'invalid_client', [400, 401]);
      await stillRedeems(id);
    });

    test('fapi-ciba-id1-ensure-client-assertion-with-iss-aud-to-token-endpoint-succeeds', async () => {
      const id = await asked();
      expectPending(await calls().poll(first, id, await calls().credentials(first, service.issuer)));
    });
  }

  if (way.method === 'self_signed_tls_client_auth') {
    test('fapi-ciba-id1-ensure-different-client-id-and-issuer-in-backchannel-authorization-request', async () => {
      expectError(await calls().ask(first, {}, { by: onlyId(second) }), 'invalid_client', [401]);
    });

    test('fapi-ciba-id1-ensure-wrong-client-id-in-token-endpoint-request', async () => {
      const id = await asked();
      expectError(await calls().poll(first, id, onlyId(second)), 'invalid_client', [400, 401]);
      await stillRedeems(id);
    });

    test('fapi-ciba-id1-ensure-wrong-client-id-in-backchannel-authorization-request', async () => {
      expectError(await calls().ask(second, {}, { by: onlyId(second), signer: first }), ['invalid_client', 'invalid_request'], [400, 401]);
    });
  }

  if (way.isBound)
    test('fapi-ciba-id1-ensure-mtls-holder-of-key-required', async () => {
      const id = await asked();
      await approve();
      const { fields = {} } = await calls().credentials(first, calls().urls.token);
      expectError(await calls().poll(first, id, { fields }), ['invalid_client', 'invalid_grant', 'invalid_request'], [400, 401]);
      expect((await calls().poll(first, id)).status).toBe(200);
    });
});
