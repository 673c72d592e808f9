/** Service specification 4.10, Events 3: in ping mode the service notifies the client on completion. Over TLS, from processes of their own. Threat D8. */
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { withServer } from '../servers/when.js';
import { Agent, basic, postForm, titleOf } from '../support/client/agent.js';
import { type PingReceiver, startPingReceiver, trustTestCa } from '../support/client/ping-receiver.js';
import { type Nodes, startNodes } from '../support/service/nodes.js';
import { testSeed } from '../support/service/seed.js';
import { askedPeople, cibaClient, redeem } from '../support/sign-in/ciba.js';
import { submit } from '../support/sign-in/factors.js';
import { until } from '../support/time/until.js';

jest.setTimeout(180_000);

const paths = ['ok', 'denied', 'replaced', 'late', 'flaky', 'refused', 'redirect', 'endless', 'private'];
const [acme, globex] = testSeed.tenants;

function suite(
  name: string,
  stores: (url: string) => { artifacts: string; directory?: string },
  url: string,
  tests: (on: On) => void,
): void {
  describe(name, () => {
    let receiver: PingReceiver;
    let nodes: Nodes;
    let forget: () => void;
    beforeAll(async () => {
      forget = trustTestCa();
      receiver = await startPingReceiver();
      const endpointOf = (path: string) =>
        // A name that leads to an address of this machine, and that the operator does not allow.
        path === 'private' ? `https://localhost:${new URL(receiver.origin).port}/private` : `${receiver.origin}/${path}`;
      const clients = paths.map((path) =>
        cibaClient(path, {
          metadata: { backchannel_token_delivery_mode: 'ping', backchannel_client_notification_endpoint: endpointOf(path) },
        }),
      );
      nodes = await startNodes({
        count: 1,
        ...stores(url),
        seed: {
          ...testSeed,
          tenants: [{ ...acme, persons: [...(acme?.persons ?? []), ...askedPeople('acme.test', [...paths, 'killed'])] }, globex],
          clients: [...testSeed.clients, ...clients],
        } as never,
      });
    });
    afterAll(async () => {
      await nodes?.close();
      receiver?.close();
      forget?.();
    });

    /** A client asks for the person who is called like it, and gets `auth_req_id`. */
    const ask = async (client: string, person = client): Promise<string> => {
      const { json } = await postForm(
        `${nodes.issuer}/connect/ciba`,
        { scope: 'openid', login_hint: `${person}@acme.test`, client_notification_token: `token-of-${client}` },
        { authorization: basic(client, `${client}-secret`) },
      );
      expect(json).toMatchObject({ auth_req_id: expect.any(String) });
      return json.auth_req_id;
    };
    /** The person answers the one request that waits for them. */
    const answer = async (person: string, decision: string): Promise<void> => {
      const agent = new Agent();
      const page = await agent.follow(await agent.get(`${nodes.issuer}/idp/ciba`));
      const inbox = await submit(agent, await submit(agent, page, { identifier: `${person}@acme.test` }), { password: person });
      const [, href = ''] = /<a class="account" href="([^"]+)"/.exec(inbox.body) ?? [];
      const done = await submit(agent, await agent.get(href), { decision });
      expect(titleOf(done)).toMatch(/^You (approved|denied) this$/);
    };
    const pingsAt = (path: string) => receiver.pings.filter((ping) => ping.path === `/${path}`);
    const arrived = (path: string, count = 1) =>
      until(
        () => pingsAt(path),
        (found) => found.length >= count,
      );

    tests({ ask, answer, arrived, pingsAt, receiver: () => receiver, nodes: () => nodes });
  });
}

interface On {
  ask(client: string, person?: string): Promise<string>;
  answer(person: string, decision: string): Promise<void>;
  arrived(path: string, count?: number): Promise<readonly unknown[]>;
  pingsAt(path: string): readonly unknown[];
  receiver(): PingReceiver;
  nodes(): Nodes;
}

withServer('REDIS_URL', (url) =>
  suite(
    'ping over TLS',
    (artifacts) => ({ artifacts }),
    url,
    ({ ask, answer, arrived, pingsAt, receiver, nodes }) => {
      test('on approval, with the client’s bearer token and nothing but auth_req_id; then the tokens are there', async () => {
        const authReqId = await ask('ok');
        await answer('ok', 'approve');
        expect(await arrived('ok')).toEqual([{ path: '/ok', authorization: 'Bearer token-of-ok', body: { auth_req_id: authReqId } }]);
        expect((await redeem(nodes().issuer, authReqId, 'ok')).json).toHaveProperty('id_token');
      });

      test('on denial', async () => {
        const authReqId = await ask('denied');
        await answer('denied', 'deny');
        expect(await arrived('denied')).toEqual([expect.objectContaining({ body: { auth_req_id: authReqId } })]);
        expect((await redeem(nodes().issuer, authReqId, 'denied')).json).toMatchObject({ error: 'access_denied' });
      });

      test('for a request that another of the client took the place of', async () => {
        const authReqId = await ask('replaced');
        await ask('replaced');
        expect(await arrived('replaced')).toEqual([expect.objectContaining({ body: { auth_req_id: authReqId } })]);
      });

      test('what was not taken is sent again; D8: 401 and 403 are not, no redirect is followed, no body is read, no private address is called', async () => {
        let refusals = 2;
        receiver().answer('/flaky', (_, response) => response.writeHead(refusals-- > 0 ? 503 : 200).end());
        receiver().answer('/refused', (_, response) => response.writeHead(403).end());
        receiver().answer('/redirect', (_, response) => response.writeHead(307, { location: `${receiver().origin}/elsewhere` }).end());
        // A body without end is answered like one that there is not.
        receiver().answer('/endless', (_, response) => response.writeHead(200).write('x'.repeat(100_000)));
        for (const client of ['flaky', 'refused', 'redirect', 'endless', 'private']) {
          await ask(client);
          await answer(client, 'approve');
        }
        await arrived('flaky', 3);
        await arrived('redirect', 3);
        expect(['refused', 'endless', 'private', 'elsewhere', 'flaky'].map((path) => [path, pingsAt(path).length])).toEqual([
          ['refused', 1],
          ['endless', 1],
          ['private', 0],
          ['elsewhere', 0],
          ['flaky', 3],
        ]);
      });
    },
  ),
);

/** In one process, `pages` has it for the event, which goes the same way. */
const killed = (url: string): void =>
  suite(
    'a node that is killed between approval and ping',
    (both) => ({ artifacts: both, directory: both }),
    url,
    ({ ask, answer, arrived, receiver, nodes }) => {
      test('the ping arrives all the same', async () => {
        let isThere = false;
        receiver().answer('/late', (_, response) => response.writeHead(isThere ? 204 : 503).end());
        await ask('late', 'killed');
        await answer('killed', 'approve');
        await arrived('late');
        await nodes().kill(0);
        isThere = true;
        const before = receiver().pings.length;
        await nodes().start(0);
        await until(() => receiver().pings.length > before);
        expect(receiver().pings.at(-1)).toMatchObject({ authorization: 'Bearer token-of-late' });
      });
    },
  );
if (process.env.PROVE) withServer('MONGODB_URL', killed);
