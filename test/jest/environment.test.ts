import type { EnvironmentContext, JestEnvironmentConfig } from '@jest/environment';
import { expect, test } from '@jest/globals';
import ProcessEnvironment from './environment.js';

test('a test file leaves the process as it found it, whatever it spied upon, faked and set', async () => {
  const before = { ...globalThis, setTimeout, setImmediate, Date, console, env: { ...process.env }, folder: process.cwd() };
  const environment = new ProcessEnvironment(
    { projectConfig: { fakeTimers: {} } } as unknown as JestEnvironmentConfig,
    {} as EnvironmentContext,
  );
  const { fakeTimersModern: timers, moduleMocker: mocker } = environment;
  timers.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
  mocker.spyOn(globalThis, 'setTimeout');
  timers.useRealTimers();
  mocker.spyOn(globalThis, 'setImmediate');
  process.env.LEFT_BEHIND = 'yes';
  process.env.PATH = '';
  Object.assign(globalThis, { leftBehind: true });
  process.chdir('/');
  await environment.teardown();
  const after = { ...globalThis, setTimeout, setImmediate, Date, console, env: { ...process.env }, folder: process.cwd() };
  expect(Object.keys(after)).toEqual(Object.keys(before));
  expect(Object.entries(before).filter(([name, value]) => typeof value === 'function' && Reflect.get(after, name) !== value)).toEqual([]);
  expect([after.env, after.folder]).toEqual([before.env, before.folder]);
});
