/** Clients that separate processes of the service notify over TLS, and the people in the clients' requests. */
import { afterAll, beforeAll, expect } from '@jest/globals';
import { type Nodes, type NodesOptions, startNodes } from '../../service/nodes.js';
import { testSeed } from '../../service/seed.js';
import { askedPeople, cibaClient } from '../../sign-in/ciba.js';
import { submit } from '../../sign-in/factors.js';
import { until } from '../../time/until.js';
import { Agent, basic, postForm, titleOf } from '../agent.js';
import { type Ping, type PingReceiver, startPingReceiver, trustTestCa } from '../receivers/ping-receiver.js';

export interface PingedSettings extends Pick<NodesOptions, 'artifacts' | 'directory' | 'options'> {
  /** Ids of the clients. Each client is notified at the path of its name, and has a person of the same name. */
  readonly ids: readonly string[];
  /** More people. */
  readonly people?: readonly string[];
  /** Returns the notification endpoint of a client. @default at the receiver */
  readonly endpointOf?: (id: string, origin: string) => string;
  /** Returns a client for the seed. */
  readonly clientOf?: (id: string, metadata: Readonly<Record<string, unknown>>) => object;
}

export interface Pinged {
  readonly nodes: Nodes;
  readonly receiver: PingReceiver;
  /** Sends a client's request for a person, and returns `auth_req_id`. @param person default: the person with the client's name */
  ask(client: string, person?: string): Promise<string>;
  /** Signs the person in, and answers the person's only pending request. */
  answer(person: string, decision: 'approve' | 'deny'): Promise<void>;
  pingsAt(path: string): readonly Ping[];
  /** Waits until this many notifications have arrived. */
  arrived(path: string, count?: number): Promise<readonly Ping[]>;
}

const [acme, globex] = testSeed.tenants;

/** Starts the clients for the tests of the surrounding `describe`. */
export function usePinged({
  ids,
  people = [],
  endpointOf = (id, origin) => `${origin}/${id}`,
  clientOf = (id, metadata) => cibaClient(id, { metadata }),
  ...settings
}: PingedSettings): Pinged {
  let receiver: PingReceiver;
  let nodes: Nodes;
  let forget: () => void;
  beforeAll(async () => {
    forget = trustTestCa();
    receiver = await startPingReceiver();
    const clients = ids.map((id) =>
      clientOf(id, {
        backchannel_token_delivery_mode: 'ping',
        backchannel_client_notification_endpoint: endpointOf(id, receiver.origin),
      }),
    );
    nodes = await startNodes({
      count: 1,
      ...settings,
      seed: {
        ...testSeed,
        tenants: [{ ...acme, persons: [...(acme?.persons ?? []), ...askedPeople('acme.test', [...ids, ...people])] }, globex],
        clients: [...testSeed.clients, ...clients],
      } as never,
    });
  });
  afterAll(async () => {
    await nodes?.close();
    receiver?.close();
    forget?.();
  });

  const pingsAt = (path: string) => receiver.pings.filter((ping) => ping.path === `/${path}`);
  return {
    get nodes() {
      return nodes;
    },
    get receiver() {
      return receiver;
    },
    async ask(client, person = client) {
      const { json } = await postForm(
        `${nodes.issuer}/connect/ciba`,
        { scope: 'openid', login_hint: `${person}@acme.test`, client_notification_token: `token-of-${client}` },
        { authorization: basic(client, `${client}-secret`) },
      );
      expect(json).toMatchObject({ auth_req_id: expect.any(String) });
      return json.auth_req_id;
    },
    async answer(person, decision) {
      const agent = new Agent();
      const page = await agent.follow(await agent.get(`${nodes.issuer}/idp/ciba`));
      const inbox = await submit(agent, await submit(agent, page, { identifier: `${person}@acme.test` }), { password: person });
      const [, href = ''] = /<a class="account" href="([^"]+)"/.exec(inbox.body) ?? [];
      const done = await submit(agent, await agent.get(href), { decision });
      expect(titleOf(done)).toMatch(/^You (approved|denied) this$/);
    },
    pingsAt,
    arrived: (path, count = 1) =>
      until(
        () => pingsAt(path),
        (found) => found.length >= count,
      ),
  };
}
