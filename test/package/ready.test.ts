/** The step before `npm start` and `npm test`: it installs and builds what is missing or out of date, and nothing else. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, rename, symlink, utimes } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { constants } from 'node:os';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { until } from '../support/time/until.js';
import { cloneWorkingCopy } from './working-copy.js';

const installAndBuild = ['npm ci --ignore-scripts', 'tsc'];
const slowly = { SLOW: 'yes' };

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

let copy: Awaited<ReturnType<typeof cloneWorkingCopy>>;

beforeEach(async () => {
  copy = await cloneWorkingCopy();
});
afterEach(() => copy.remove());

describe('ready step', () => {
  test('after a clone it installs, builds and shows both', async () => {
    const { code, output } = await copy.ready();
    expect({ code, calls: await copy.calls() }).toEqual({ code: 0, calls: installAndBuild });
    expect(output).toMatch(/Installing packages \(usually half a minute\) …[\s\S]*Building \(usually half a minute\) …/);
  });

  test('recommends Node 22 on Node 20, only when it installs, and refuses older ones', async () => {
    const pretend = (version: string) => {
      const module = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`;
      return { flags: ['--import', `data:text/javascript,${module}`] };
    };
    expect((await copy.ready(pretend('20.19.0'))).output).toContain('Node 22 or later is recommended');
    await copy.write('lib/index.ts', 'export const two = 2;');
    expect((await copy.ready(pretend('20.19.0'))).output).not.toContain('recommended');
    const refused = await copy.ready(pretend('20.18.3'));
    expect(refused).toEqual({ code: 1, output: expect.stringContaining('needs Node 20.19 or later') });
  });

  describe('in a working copy that is ready', () => {
    beforeEach(async () => {
      await copy.ready();
      await copy.calls();
    });

    test('does nothing and says nothing', async () => {
      expect(await copy.ready()).toEqual({ code: 0, output: '' });
      await utimes(copy.path('lib/index.ts'), 1, 1);
      expect(await copy.ready()).toEqual({ code: 0, output: '' });
      expect(await copy.calls()).toEqual([]);
    });

    test.each([
      ['a changed source', 'lib/index.ts'],
      ['a new source', 'examples/local/main.ts'],
      ['other compiler settings', 'tsconfig.json'],
    ])('builds for %s, and once', async (_, file) => {
      await copy.write(file, '{ "new": true }');
      await copy.ready();
      await copy.ready();
      expect(await copy.calls()).toEqual(['tsc']);
    });

    test('builds when dist is gone', async () => {
      await rename(copy.path('dist'), copy.path('gone'));
      await copy.ready();
      expect(await copy.calls()).toEqual(['tsc']);
    });

    test('installs and builds for a changed package-lock.json', async () => {
      await copy.changeDependency();
      await copy.ready();
      expect(await copy.calls()).toEqual(installAndBuild);
    });

    test('never installs into packages that are somebody else’s', async () => {
      await rename(copy.path('node_modules'), copy.path('theirs'));
      await symlink(copy.path('theirs'), copy.path('node_modules'));
      expect(await copy.ready()).toEqual({ code: 0, output: '' });
      await copy.changeDependency();
      const { code, output } = await copy.ready();
      expect({ code, calls: await copy.calls() }).toEqual({ code: 1, calls: [] });
      expect(output).toContain('node_modules is a link');
    });
  });

  test('before the demo it looks at both ports first, and changes nothing if one is in use', async () => {
    const server = createServer();
    await once(server.listen(0), 'listening');
    const { port } = server.address() as AddressInfo;
    const ports = [{ PORT: `${port}` }, { RP_PORT: `${port}`, PORT: '' }];
    try {
      for (const [index, env] of ports.entries()) {
        const { code, output } = await copy.ready({ mode: ['start'], ...env });
        expect({ code, calls: await copy.calls() }).toEqual({ code: 1, calls: [] });
        expect(output).toContain(`Port ${port} is in use. Set ${['PORT', 'RP_PORT'][index]} to another port`);
      }
    } finally {
      server.close();
    }
    expect(await copy.ready({ mode: ['start'], PORT: `${port}`, RP_PORT: 'none' })).toMatchObject({ code: 0 });
    expect(await copy.calls()).toEqual(installAndBuild);
  });

  test.each([
    ['npm', ['npm ci --ignore-scripts'], 'Installing packages failed (exit code 7)'],
    ['tsc', installAndBuild, 'Building failed (exit code 2)'],
  ])('a failing %s stops it with a message, and the next run tries again', async (program, calls, message) => {
    const { code, output } = await copy.ready({ FAIL: program });
    expect({ code, calls: await copy.calls() }).toEqual({ code: 1, calls });
    expect(output).toContain(message);
    expect(await copy.ready()).toMatchObject({ code: 0 });
    expect(await copy.calls()).toEqual(program === 'npm' ? installAndBuild : ['tsc']);
  });

  test('of several at once one works and the others wait for it', async () => {
    const runs = await Promise.all([copy.ready(slowly), copy.ready(slowly), copy.ready(slowly)]);
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0]);
    expect(await copy.calls()).toEqual(installAndBuild);
    expect(existsSync(copy.path('.ready.lock'))).toBe(false);
  });

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('%s ends it and its processes, and removes its lock', async (signal) => {
    const { child, npm } = await copy.hanging();
    const ended = once(child, 'exit');
    child.kill(signal);
    expect(await ended).toEqual([128 + constants.signals[signal], null]);
    await until(() => !isAlive(npm));
    expect(existsSync(copy.path('.ready.lock'))).toBe(false);
  });

  test('a lock whose owner died is taken over, by one of several', async () => {
    const beyondAnyPid = '99999999';
    await mkdir(copy.path('.ready.lock'));
    await copy.write(`.ready.lock/${beyondAnyPid}`, '');
    await Promise.all([copy.ready(slowly), copy.ready(slowly), copy.ready(slowly)]);
    expect(await copy.calls()).toEqual(installAndBuild);
  });

  test('before npm packs it never installs, and builds only where there is a compiler', async () => {
    expect(await copy.ready({ mode: ['prepack'] })).toEqual({ code: 0, output: '' });
    await copy.ready();
    await copy.write('lib/index.ts', 'export const two = 2;');
    await copy.calls();
    await copy.ready({ mode: ['prepack'] });
    expect(await copy.calls()).toEqual(['tsc']);
  });
});
