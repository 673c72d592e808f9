/** Issue 15, threat H3: a node is killed with `kill -9` between the event of an impersonation and its tokens. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createIdentityProvider, type IdentityProvider } from 'tenant-idp';
import { freePort } from '../support/service/free-port.js';
import { impersonatingAt, operatorSeed, permission } from '../support/sign-in/impersonating.js';
import { type ImpersonationNode, optionsOfNodes, startImpersonationNode } from '../support/sign-in/impersonation-node.js';
import { withDurable } from '../support/stores/durable.js';
import { until } from '../support/time/until.js';

/**
 * Numbers of writes before the kill: the row with its event, the operator's session, the step, its result, the sign-in with its code, the
 * tokens.
 */
const POINTS = [2, 3, 4, 5, 6, 7, 8, 9];
const rounds = process.env.PROVE ? Array.from({ length: 100 }, (_, round) => POINTS[round % POINTS.length] as number) : [2, 6];

withDurable(['POSTGRES_URL', 'MONGODB_URL'], (durable) =>
  describe('an impersonation is cut short', () => {
    const place = durable.place();
    let port: number;
    let idp: IdentityProvider;
    let node: ImpersonationNode | undefined;
    beforeAll(async () => {
      port = await freePort();
      idp = await createIdentityProvider({ ...optionsOfNodes({ port, permission }), ...durable.at(place), seed: operatorSeed });
    });
    afterAll(async () => {
      await node?.kill();
      await idp?.close();
    });

    test(`${rounds.length} times: never a token, nor a sign-in, without its event; and each that began ends once`, async () => {
      const [operator] = await idp.directory.accounts.candidates('otto@acme.test');
      const tid = operator?.tenant.id ?? '';
      const { persons, users } = idp.tenant(tid);
      let cut = 0;
      for (const [round, killAfter] of rounds.entries()) {
        const name = `cut${round}`;
        const { user } = await persons.create({ givenName: 'Cut', familyName: name, user: { userName: name } });
        const userId = user?.id ?? '';
        await users.activate(userId);
        node = await startImpersonationNode({ place, port, permission });
        const support = impersonatingAt({ issuer: `http://127.0.0.1:${port}` });
        const { agent, page } = await support.chooser();
        const why = await support.choose(agent, page, name);
        await node.arm(killAfter);
        const token = await agent
          .submit(why, { step: 'start', reason: name })
          .then((answer) => agent.follow(answer))
          .then((answer) => support.redeem(answer))
          .then(({ access_token: found }) => found as string | undefined)
          .catch(() => undefined);
        await node.kill();
        cut += token === undefined ? 1 : 0;
        const of = async (type: 'ImpersonationStarted' | 'ImpersonationEnded') => {
          const found: unknown[] = [];
          for (let after: string | undefined; ; ) {
            const { events, next } = await idp.directory.eventFeed.read({ types: [type], limit: 1000, ...(after && { after }) });
            found.push(...events.filter(({ subject }) => subject === userId));
            if (events.length < 1000) return found;
            after = next;
          }
        };
        const impersonation = (await idp.sessions.list({ tid, userId })).filter(({ act }) => act !== undefined);
        const began = token !== undefined || impersonation.length > 0;
        if (began) await until(async () => (await of('ImpersonationStarted')).length > 0);
        await users.disable(userId);
        // One write has the row and its event, so both exist or neither. The job of another node ends the impersonation.
        const started = await of('ImpersonationStarted');
        if (killAfter === 2) await until(async () => (await of('ImpersonationStarted')).length === 1);
        if (started.length > 0 || killAfter === 2) await until(async () => (await of('ImpersonationEnded')).length === 1);
        expect([round, (await of('ImpersonationStarted')).length <= 1]).toEqual([round, true]);
      }
      expect(cut).toBeGreaterThan(0);
    });
  }),
);
