/** Issue 11 C: a store that answers reads and takes no writes. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, describe, expect } from '@jest/globals';
import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import { startIdp, type TestIdp, type TestIdpOptions } from '../support/service/idp.js';
import { testTogether } from '../support/service/test-together.js';
import { failingStores } from '../support/stores/failing-stores.js';
import { IN_TIME } from '../support/time/in-time.js';
import { until } from '../support/time/until.js';

const up = { status: 'up', artifacts: 'up', directory: 'up', problems: [] };

describe('C: health() of a store that answers reads and takes no writes', () => {
  const running: TestIdp[] = [];
  const start = async (options: TestIdpOptions): Promise<TestIdp> => {
    const service = await startIdp(options);
    running.push(service);
    return service;
  };
  afterAll(() => Promise.all(running.map((service) => service.close())));

  for (const how of ['refuses', 'never answers'])
    for (const [flag, which] of [['writes', 'artifacts'] as const, ['directoryWrites', 'directory'] as const])
      testTogether(`${which} that ${how} them: they are read-only, and the service down, until they take them again`, async () => {
        const { artifacts, directory, down, recover } = failingStores();
        const service = await start({ artifacts, directory });
        await pause(1100);
        Object.assign(down, { hang: how === 'never answers', [flag]: true });
        const since = performance.now();
        expect(await service.idp.health()).toEqual({ ...up, status: 'down', [which]: 'read-only' });
        expect(performance.now() - since).toBeLessThan(IN_TIME);
        recover();
        await pause(1100);
        expect(await service.idp.health()).toEqual(up);
      });

  testTogether('the outage is one line when it begins and one when it ends, though reads are answered all the time', async () => {
    const { artifacts, directory, down, recover } = failingStores();
    const service = await start({ artifacts, directory });
    down.writes = true;
    await service.idp.health();
    for (let look = 0; look < 30; look += 1) {
      await service.idp.sessions.list({ tid: 'nowhere', userId: 'nobody' }).catch(() => {});
      await pause(100);
    }
    expect(service.logged.map(([, message]) => message)).toEqual(['the store is unavailable']);
    recover();
    await until(() => service.logged.length >= 2);
    expect(service.logged.map(([, message]) => message)).toEqual(['the store is unavailable', 'the store is available again']);
  });

  testTogether('however often it is asked, it writes once a second', async () => {
    const { artifacts, directory } = failingStores();
    let writes = 0;
    const commit: ArtifactStore['commit'] = (all) => {
      writes += 1;
      return artifacts.commit(all);
    };
    const service = await start({ artifacts: { ...artifacts, commit }, directory });
    const began = performance.now();
    for (let asked = 0; asked < 500; asked += 1) expect(await service.idp.health()).toEqual(up);
    expect(writes).toBeGreaterThan(0);
    expect(writes).toBeLessThanOrEqual(1 + Math.floor((performance.now() - began) / 1000));
  });
});

describe('C: a node that starts before its stores', () => {
  for (const which of ['artifacts', 'directory'] as const)
    testTogether(`waits 5 s for its ${which}`, async () => {
      const { artifacts, directory, down, recover } = failingStores();
      down[which] = true;
      // With `npm run prove`, recovery is near the end; otherwise it is early enough for a busy machine.
      setTimeout(recover, process.env.PROVE ? 4200 : 500);
      const service = await startIdp({ artifacts, directory });
      expect(await service.idp.health()).toEqual(up);
      await service.close();
    });
});
