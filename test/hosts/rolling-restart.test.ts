/** Three nodes behind a load balancer that are restarted in turn under load: no request fails. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { withServer } from '../servers/when.js';
import { authorizeUrl, postForm } from '../support/client/agent.js';
import { authorizationOf, introspect } from '../support/client/steps.js';
import { startNodes } from '../support/service/nodes.js';
import { testSeed } from '../support/service/seed.js';
import { testTogether } from '../support/service/test-together.js';

/** Requests a second. */
const RATE = process.env.PROVE ? 200 : 30;
const RESTARTED = process.env.PROVE ? [0, 1, 2] : [0];

withServer('REDIS_URL', (artifacts) => {
  testTogether(`${RATE} mixed requests a second, and ${RESTARTED.length} of three nodes restarted in turn by SIGTERM: 0 fail`, async () => {
    const nodes = await startNodes({ artifacts, seed: testSeed });
    try {
      const { issuer } = nodes;
      const token = async () => postForm(`${issuer}/connect/token`, { grant_type: 'client_credentials' }, authorizationOf('service'));
      const known = (await token()).json.access_token as string;
      const requests: readonly (() => Promise<number>)[] = [
        async () => (await token()).status,
        async () => (await introspect(issuer, known, 'orders')).status,
        async () => (await fetch(`${issuer}/.well-known/openid-configuration`)).status,
        async () => (await fetch(authorizeUrl(issuer, {}), { redirect: 'manual' })).status,
        async () => (await fetch(`${issuer}/connect/par`, { method: 'POST', body: new URLSearchParams({ client_id: 'nobody' }) })).status,
      ];
      const statuses = new Map<string, number>();
      const running = new Set<Promise<void>>();
      let isOver = false;
      const load = async () => {
        for (let sent = 0, since = performance.now(); !isOver; sent += 1) {
          const request = requests[sent % requests.length] as () => Promise<number>;
          const one = request()
            .then(String, String)
            .then((status) => {
              const kind = `${sent % requests.length}: ${status}`;
              statuses.set(kind, (statuses.get(kind) ?? 0) + 1);
            });
          running.add(one);
          void one.then(() => running.delete(one));
          const ahead = (sent * 1000) / RATE - (performance.now() - since);
          if (ahead > 0) await sleep(ahead);
        }
        await Promise.all(running);
      };
      const loading = load();
      await sleep(2000);
      for (const index of RESTARTED) {
        expect(await nodes.end(index)).toBe(0);
        await nodes.start(index);
        await sleep(1000);
      }
      isOver = true;
      await loading;
      expect([...statuses.keys()].sort()).toEqual(['0: 200', '1: 200', '2: 200', '3: 303', '4: 401']);
      expect(nodes.logged).toEqual([]);
    } finally {
      await nodes.close();
    }
  });
});
