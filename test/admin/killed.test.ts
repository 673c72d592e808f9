/** Threat H3: a node is killed with `kill -9` between the writes of POST Person, and of the removal of a tenant. */
import { expect } from '@jest/globals';
import { createIdentityProvider, type IdentityProvider } from 'tenant-idp';
import { adminSeed } from '../support/administration/admin.js';
import { type AdminNode, optionsOfNodes, startAdminNode } from '../support/administration/admin-node.js';
import { basic, type Json, postForm } from '../support/client/agent.js';
import { testTogether } from '../support/service/test-together.js';
import { withDurable } from '../support/stores/durable.js';
import { until } from '../support/time/until.js';

/** Rounds of each test: 25 of four kills with `npm run prove`, one of one kill with the suite. */
const ROUNDS = process.env.PROVE ? 25 : 1;

const scope =
  'idp.tenants:read idp.tenants:write idp.persons:read idp.persons:write idp.invitations:read idp.invitations:write idp.events:read';
type Ask = (path: string, method?: string, body?: unknown, headers?: Record<string, string>) => Promise<{ status: number; json: Json }>;

async function administrator(origin: string): Promise<Ask> {
  const credentials = { authorization: basic('root', 'root-secret') };
  const { json } = await postForm(`${origin}/connect/token`, { grant_type: 'client_credentials', scope }, credentials);
  const once: Ask = async (path, method = 'GET', body = undefined, headers = {}) => {
    const answer = await fetch(`${origin}/idp/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${json.access_token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, json: text === '' ? undefined : JSON.parse(text) };
  };
  // A store on a busy machine does not answer in time, so reads are retried.
  return (path, method = 'GET', ...more) => {
    const answer = () => once(path, method, ...more);
    return method === 'GET' ? until(answer, ({ status }) => status !== 503) : answer();
  };
}

withDurable(['POSTGRES_URL', 'MONGODB_URL'], (durable) => {
  interface Stage {
    readonly node: AdminNode;
    readonly ask: Ask;
    readonly tid: string;
    /** Starts another node after the first has ended, and uses it. */
    survivor(use: (ask: Ask, idp: IdentityProvider) => Promise<void>): Promise<void>;
    kept(): Promise<string>;
  }

  async function onStage(play: (stage: Stage) => Promise<void>): Promise<void> {
    const place = durable.place();
    const node = await startAdminNode({ place, seed: adminSeed });
    try {
      const ask = await administrator(node.origin);
      const { json } = await ask('/tenants');
      await play({
        node,
        ask,
        tid: json.items.find(({ name }: Json) => name === 'Globex').id,
        async survivor(use) {
          const idp = await createIdentityProvider({ ...optionsOfNodes, ...durable.at(place) });
          const server = await idp.listen(0, '127.0.0.1');
          try {
            const address = server.address() as { port: number };
            await use(await administrator(`http://127.0.0.1:${address.port}`), idp);
          } finally {
            await idp.close();
          }
        },
        async kept() {
          const names = ['persons', 'invitations', 'groups', 'subsidiaries', 'credentials', 'consents', 'clients', 'tenants', 'removals'];
          const rows = await Promise.all(names.map((name) => durable.rows(place, name)));
          return JSON.stringify(rows);
        },
      });
    } finally {
      node.kill();
    }
  }

  const events = async (ask: Ask, type: string) => (await ask(`/events?type=${type}&limit=200`)).json.items as Json[];

  async function expectOnePerson(killAfter: number): Promise<void> {
    await onStage(async ({ node, ask, tid, survivor }) => {
      const person = { givenName: 'Kim', familyName: 'Killed', email: 'kim@globex.test', user: { userName: 'kim@globex.test' } };
      const send = (by: Ask) =>
        by(`/tenants/${tid}/persons`, 'POST', { ...person, invitation: { send: true } }, { 'idempotency-key': 'kim' });
      await node.arm(killAfter);
      const answered = await send(ask).catch(() => undefined);
      // The request may have made all its writes before.
      if (answered) node.kill();
      expect(await node.gone).toBe(true);
      await survivor(async (other, idp) => {
        const before = (await other(`/tenants/${tid}/persons?email=kim@globex.test`)).json.items as Json[];
        // A person never exists without the user, or without the member that names the invitation.
        for (const { user } of before) expect(user).toMatchObject({ userName: 'kim@globex.test', status: 'invited' });
        const again = await until(
          () => send(other),
          ({ status }) => status !== 409 && status !== 503,
          500,
        );
        expect([killAfter, again.status]).toEqual([killAfter, 201]);
        const { items } = (await other(`/tenants/${tid}/persons?email=kim@globex.test`)).json;
        expect(items.map(({ id, user }: Json) => [id, user.id])).toEqual([[again.json.id, again.json.user.id]]);
        for (const { id } of before) expect(id).toBe(again.json.id);
        if (answered) expect(answered.json.id).toBe(again.json.id);
        const invitations = (await other(`/tenants/${tid}/invitations?personId=${again.json.id}`)).json.items as Json[];
        expect(invitations.map(({ id, status }) => [id, status])).toEqual([[again.json.invitation.id, 'pending']]);
        const of = async (type: string, subject: string) => (await events(other, type)).filter((event) => event.subject === subject);
        await until(async () => (await of('InvitationSent', again.json.invitation.id)).length > 0);
        expect((await of('PersonCreated', again.json.id)).length).toBe(1);
        expect((await of('UserCreated', again.json.user.id)).length).toBe(1);
        expect(await idp.directory.acceptance.open({ id: again.json.invitation.id, serial: 1 })).toMatchObject({ state: 'pending' });
      });
    });
  }

  async function expectNoTenant(killAfter: number): Promise<void> {
    await onStage(async ({ node, ask, tid, survivor, kept }) => {
      await node.arm(killAfter);
      const answered = await ask(`/tenants/${tid}`, 'DELETE').catch(() => undefined);
      if (answered) expect(answered.status).toBe(204);
      // The job continues after the answer. If the job has fewer writes than `killAfter`, it ends without a kill.
      await Promise.race([node.gone, until(async () => !(await kept()).includes(tid))]);
      node.kill();
      expect(await node.gone).toBe(true);
      await survivor(async (other) => {
        expect((await other(`/tenants/${tid}`)).status).toBe(404);
        const [event, ...more] = await until(
          async () => (await events(other, 'TenantRemoved')).filter(({ subject }) => subject === tid),
          ({ length }) => length > 0,
        );
        expect([event?.actor, more]).toEqual(['client:root', []]);
        // The rest of the removed records is removed with their last events.
        await until(async () => !(await kept()).includes(tid));
        expect((await other('/tenants')).json.items.map(({ name }: Json) => name)).toContain('Acme');
      });
    });
  }

  testTogether(
    `POST Person with an invitation, ${ROUNDS} times after each write: sent again with its Idempotency-Key it is there once, as a whole`,
    async () => {
      for (let round = 0; round < ROUNDS; round += 1) await Promise.all((process.env.PROVE ? [1, 2, 3, 4] : [2]).map(expectOnePerson));
    },
  );

  testTogether(`DELETE of a tenant, ${ROUNDS} times after writes of it: another node removes the rest, and tells so once`, async () => {
    for (let round = 0; round < ROUNDS; round += 1)
      await Promise.all((process.env.PROVE ? [1, 2, 3 + (round % 5), 8 + (round % 9)] : [4]).map(expectNoTenant));
  });
});
