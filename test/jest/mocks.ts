/** The part of Jest's `jest` that tests use. Modules cannot be mocked, because all test files of a process share them. */
import type { JestEnvironment } from '@jest/environment';

export type Mocks = ReturnType<typeof createMocks>;

export function createMocks({ moduleMocker, fakeTimersModern, global }: JestEnvironment) {
  if (!moduleMocker || !fakeTimersModern) throw new Error('The environment of the test file has ended.');
  const mocker = moduleMocker;
  const timers = fakeTimersModern;
  return {
    fn: mocker.fn.bind(mocker),
    spyOn: mocker.spyOn.bind(mocker),
    restoreAllMocks: () => mocker.restoreAllMocks(),
    useFakeTimers: timers.useFakeTimers.bind(timers),
    useRealTimers: () => timers.useRealTimers(),
    advanceTimersByTime: (ms: number) => timers.advanceTimersByTime(ms),
    advanceTimersByTimeAsync: (ms: number) => timers.advanceTimersByTimeAsync(ms),
    getTimerCount: () => timers.getTimerCount(),
    setSystemTime: (now?: number | Date) => timers.setSystemTime(now),
    setTimeout: (ms: number) => void Reflect.set(global, Symbol.for('TEST_TIMEOUT_SYMBOL'), ms),
  };
}
