/**
 * The OpenID Foundation's plan fapi-ciba-id1-test-plan in ping mode, by the names of its modules. Nodes in processes of their own send the
 * pings over TLS.
 */
import { describe, expect, test } from '@jest/globals';
import { withServer } from '../../servers/when.js';
import { createPlanClient, expectError, expectPending, planCalls, ways } from '../../support/client/ciba/ciba-plan.js';
import { usePinged } from '../../support/client/ciba/pinged-clients.js';
import { until } from '../../support/time/until.js';

const [way] = ways;
if (!way) throw new Error('there is no way to authenticate');
const ids = ['first', 'second', 'rejected', 'expired', 'many', 'body', 'refused', 'forbidden', 'once', 'redirect', 'retried'] as const;
type Id = (typeof ids)[number];
const clients = new Map(await Promise.all(ids.map(async (id) => [id as string, await createPlanClient(id)] as const)));
const clientOf = (id: string) => {
  const client = clients.get(id);
  if (!client) throw new Error(`there is no client ${id}`);
  return client;
};

withServer('REDIS_URL', (url) =>
  describe('fapi-ciba-id1-test-plan, ping, private_key_jwt', () => {
    const pinged = usePinged({
      ids,
      artifacts: url,
      options: { assertionAudience: 'token-endpoint' },
      clientOf: (id, metadata) => clientOf(id).record(way, metadata),
    });
    const { answer, arrived, pingsAt } = pinged;
    const calls = () => planCalls(pinged.nodes.issuer, way);

    /** Returns the `auth_req_id` of a request that was acknowledged, and is pending. */
    const asked = async (id: Id, claims: Record<string, unknown> = {}): Promise<string> => {
      const token = { login_hint: `${id}@acme.test`, client_notification_token: `token-of-${id}=` };
      const { status, json } = await calls().ask(clientOf(id), { ...token, ...claims });
      expect([status, json]).toEqual([200, expect.objectContaining({ auth_req_id: expect.any(String) })]);
      expectPending(await poll(id, json.auth_req_id));
      return json.auth_req_id;
    };
    const poll = (id: Id, authReqId: string) => calls().poll(clientOf(id), authReqId);
    const pingOf = (id: Id, authReqId: string, token = `token-of-${id}=`) => ({
      path: `/${id}`,
      authorization: `Bearer ${token}`,
      contentType: expect.stringMatching(/^application\/json\b/),
      body: { auth_req_id: authReqId },
    });
    const redeems = async (id: Id, authReqId: string) =>
      expect(await poll(id, authReqId)).toMatchObject({ status: 200, json: { id_token: expect.any(String) } });
    /** Runs the whole flow, with this answer of the client to the ping. */
    const completes = async (id: Id, status: number, headers: Record<string, string> = {}, body?: string) => {
      pinged.receiver.answer(`/${id}`, (_, response) => response.writeHead(status, headers).end(body));
      const authReqId = await asked(id);
      await answer(id, 'approve');
      const [ping] = await arrived(id);
      expect(ping).toEqual(pingOf(id, authReqId));
      await redeems(id, authReqId);
    };

    test('fapi-ciba-id1', async () => {
      const authReqId = await asked('first');
      await answer('first', 'approve');
      expect(await arrived('first')).toEqual([pingOf('first', authReqId)]);
      await redeems('first', authReqId);

      const token = `${'Az09-._~+/'.repeat(103).slice(0, 1023)}=`;
      const other = await asked('second', { client_notification_token: token, requested_expiry: 300 });
      await answer('second', 'approve');
      expect(await arrived('second')).toEqual([pingOf('second', other, token)]);
      await redeems('second', other);
      expectError(await poll('second', other), 'invalid_grant');
    });

    test('fapi-ciba-id1-user-rejects-authentication', async () => {
      const authReqId = await asked('rejected');
      await answer('rejected', 'deny');
      expect(await arrived('rejected')).toEqual([pingOf('rejected', authReqId)]);
      expectError(await poll('rejected', authReqId), 'access_denied');
    });

    test('fapi-ciba-id1-auth-req-id-expired', async () => {
      const authReqId = await asked('expired', { requested_expiry: 2 });
      await until(async () => (await poll('expired', authReqId)).json.error === 'expired_token');
      expectError(await poll('expired', authReqId), 'expired_token');
      expect(pingsAt('expired')).toEqual([]);
    });

    test('fapi-ciba-id1-multiple-call-to-token-endpoint', async () => {
      const authReqId = await asked('many');
      for (let count = 0; count < 20; count += 1) expectPending(await poll('many', authReqId));
      await answer('many', 'approve');
      expect(await arrived('many')).toEqual([pingOf('many', authReqId)]);
      await redeems('many', authReqId);
    });

    test('fapi-ciba-id1-ping-backchannel-notification-endpoint-response-has-body', async () => {
      await completes('body', 200, { 'content-type': 'text/plain' }, 'a body that nobody asked for');
    });

    test('fapi-ciba-id1-ping-backchannel-notification-endpoint-response-401', async () => {
      await completes('refused', 401);
    });

    test('fapi-ciba-id1-ping-backchannel-notification-endpoint-response-403', async () => {
      await completes('forbidden', 403);
    });

    test('fapi-ciba-id1-ping-with-mtls-ciba-notification-endpoint-response-401-and-require-server-does-not-retry', async () => {
      await completes('once', 401);
      // Waits for three attempts of a ping that is retried. A retry of the first ping would have arrived by then.
      pinged.receiver.answer('/retried', (_, response) => response.writeHead(503).end());
      await asked('retried');
      await answer('retried', 'approve');
      await arrived('retried', 3);
      expect(pingsAt('once')).toHaveLength(1);
    });

    test('fapi-ciba-id1-ping-backchannel-notification-endpoint-return-redirect-request', async () => {
      await completes('redirect', 301, { location: `${pinged.receiver.origin}/elsewhere` });
      expect([pingsAt('redirect').length, pingsAt('elsewhere').length]).toEqual([1, 0]);
    });
  }),
);
