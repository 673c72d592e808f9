/** B23: a node is killed with `kill -9` while it evaluates a form. The form is sent again, to another node. */
import { afterAll, expect, test } from '@jest/globals';
import { createIdentityProvider, type IdentityProvider } from 'tenant-idp';
import { Agent, createPkce, formOf, titleOf } from '../support/client/agent.js';
import { membersOf } from '../support/client/authorization-response.js';
import { freePort } from '../support/service/free-port.js';
import { operatorSeed, permission } from '../support/sign-in/impersonating.js';
import { optionsOfNodes, startImpersonationNode } from '../support/sign-in/impersonation-node.js';
import { passwordPage } from '../support/sign-in/passwords.js';
import { withDurable } from '../support/stores/durable.js';

withDurable(['POSTGRES_URL', 'MONGODB_URL'], (durable) => {
  const others: IdentityProvider[] = [];
  afterAll(async () => {
    for (const other of others) await other.close();
  });

  /**
   * Sends a password to a node that is killed after so many writes. Then sends the password to the node that replaces it, until that node
   * answers.
   */
  async function sentToTheKilled(writes: number): Promise<readonly string[]> {
    const [port, place] = [await freePort(), durable.place()];
    const other = await createIdentityProvider({ ...optionsOfNodes({ port, permission }), ...durable.at(place), seed: operatorSeed });
    others.push(other);
    const node = await startImpersonationNode({ place, port, permission });
    const agent = new Agent();
    const { challenge } = createPkce();
    const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };
    const page = await passwordPage(`http://127.0.0.1:${port}`, agent, 'alice@acme.test', pkce);
    const { action, fields } = formOf(page);
    const press = () => agent.post(action, { ...fields, password: 'alice' });
    await node.arm(writes);
    await expect(press()).rejects.toThrow();
    await node.kill();
    await other.listen(port, '127.0.0.1');
    const told: string[] = [];
    for (;;) {
      const end = await agent.follow(await press());
      if (end.location !== undefined) return [...told, ...Object.keys(membersOf(end)).filter((name) => name === 'code')];
      told.push(titleOf(end));
      if (end.status !== 503) return told;
    }
  }

  test('the second attempt says that the form is under way, and is evaluated once the turn of the killed node has ended', async () => {
    // The node is killed after it has reserved the form (1), stored the sign-in (2), or stored the answer (3).
    const ends = await Promise.all((process.env.PROVE ? [1, 3, 2] : [1, 3]).map((writes) => sentToTheKilled(writes)));
    for (const [index, told] of ends.entries()) {
      expect(told.at(-1)).toBe('code');
      expect(new Set(told.slice(0, -1))).toEqual(new Set(index === 1 ? [] : ['We are still working on it']));
    }
  });
});
