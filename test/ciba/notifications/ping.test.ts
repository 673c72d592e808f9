/**
 * Service specification 4.10, Events 3: in ping mode the service notifies the client on completion. Nodes in processes of their own send
 * over TLS. Threat D8.
 */
import { describe, expect, test } from '@jest/globals';
import { withServer } from '../../servers/when.js';
import { usePinged } from '../../support/client/ciba/pinged-clients.js';
import { redeem } from '../../support/sign-in/ciba.js';
import { until } from '../../support/time/until.js';

withServer('REDIS_URL', (url) =>
  describe('ping over TLS', () => {
    const pinged = usePinged({
      ids: ['ok', 'denied', 'replaced', 'flaky', 'refused', 'redirect', 'endless', 'private', 'slow-approve', 'slow-deny', 'other'],
      artifacts: url,
      endpointOf: (id, origin) =>
        // The name resolves to an address of this machine, which the operator does not allow.
        id === 'private' ? `https://localhost:${new URL(origin).port}/private` : `${origin}/${id}`,
    });
    const { ask, answer, arrived, pingsAt } = pinged;

    test('on approval, with the client’s bearer token and nothing but auth_req_id; then the tokens are there', async () => {
      const authReqId = await ask('ok');
      await answer('ok', 'approve');
      expect(await arrived('ok')).toEqual([
        { path: '/ok', authorization: 'Bearer token-of-ok', contentType: 'application/json', body: { auth_req_id: authReqId } },
      ]);
      expect((await redeem(pinged.nodes.issuer, authReqId, 'ok')).json).toHaveProperty('id_token');
    });

    test('on denial', async () => {
      const authReqId = await ask('denied');
      await answer('denied', 'deny');
      expect(await arrived('denied')).toEqual([expect.objectContaining({ body: { auth_req_id: authReqId } })]);
      expect((await redeem(pinged.nodes.issuer, authReqId, 'denied')).json).toMatchObject({ error: 'access_denied' });
    });

    test('for a request that another of the client took the place of', async () => {
      const authReqId = await ask('replaced');
      await ask('replaced');
      expect(await arrived('replaced')).toEqual([expect.objectContaining({ body: { auth_req_id: authReqId } })]);
    });

    test.each(['approve', 'deny'] as const)(
      'after %s, not again once the client got the outcome at the token endpoint, whatever it answered',
      async (decision) => {
        const client = `slow-${decision}`;
        pinged.receiver.answer(`/${client}`, (_, response) => response.writeHead(503).end());
        pinged.receiver.answer('/other', (_, response) => response.writeHead(503).end());
        const authReqId = await ask(client);
        await answer(client, decision);
        await arrived(client);
        const { json } = await redeem(pinged.nodes.issuer, authReqId, client);
        expect(json).toHaveProperty(decision === 'approve' ? 'id_token' : 'error');
        // A ping of a later request, which its client does not redeem, is sent a second time.
        await ask('other');
        await answer('other', 'approve');
        await arrived('other', 2);
        expect(pingsAt(client)).toHaveLength(1);
        expect((await redeem(pinged.nodes.issuer, authReqId, client)).json.error).toBe(
          decision === 'approve' ? 'invalid_grant' : 'access_denied',
        );
      },
    );

    test('what was not taken is sent again; D8: after 3xx, 401 and 403 it is not, no redirect is followed, no body is read, no private address is called', async () => {
      let refusals = 2;
      pinged.receiver.answer('/flaky', (_, response) => response.writeHead(refusals-- > 0 ? 503 : 200).end());
      pinged.receiver.answer('/refused', (_, response) => response.writeHead(403).end());
      pinged.receiver.answer('/redirect', (_, response) =>
        response.writeHead(307, { location: `${pinged.receiver.origin}/elsewhere` }).end(),
      );
      // A body without end is handled like an empty body.
      pinged.receiver.answer('/endless', (_, response) => response.writeHead(200).write('x'.repeat(100_000)));
      for (const client of ['flaky', 'refused', 'redirect', 'endless', 'private']) {
        await ask(client);
        await answer(client, 'approve');
      }
      // The attempts follow one second and five seconds after the first attempt. A ping that was not retried by then is never retried.
      await arrived('flaky', 3);
      expect(['refused', 'redirect', 'endless', 'private', 'elsewhere', 'flaky'].map((path) => [path, pingsAt(path).length])).toEqual([
        ['refused', 1],
        ['redirect', 1],
        ['endless', 1],
        ['private', 0],
        ['elsewhere', 0],
        ['flaky', 3],
      ]);
    });
  }),
);

/** Kills the process of a node. `pages/answers` covers the event in one process, and the ping goes the same way. */
const killed = (url: string): void =>
  describe('a node that is killed between approval and ping', () => {
    const pinged = usePinged({ ids: ['late'], people: ['killed'], artifacts: url, directory: url });
    const { ask, answer, arrived } = pinged;

    test('the ping arrives all the same', async () => {
      let isThere = false;
      pinged.receiver.answer('/late', (_, response) => response.writeHead(isThere ? 204 : 503).end());
      await ask('late', 'killed');
      await answer('killed', 'approve');
      await arrived('late');
      await pinged.nodes.kill(0);
      isThere = true;
      const before = pinged.receiver.pings.length;
      await pinged.nodes.start(0);
      await until(() => pinged.receiver.pings.length > before);
      expect(pinged.receiver.pings.at(-1)).toMatchObject({ authorization: 'Bearer token-of-late' });
    });
  });
if (process.env.PROVE) withServer('MONGODB_URL', killed);
