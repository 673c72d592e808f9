import { jest } from '@jest/globals';

const timers = [
  'cancelAnimationFrame', 'cancelIdleCallback', 'clearImmediate', 'clearInterval', 'clearTimeout', 'hrtime', 'nextTick', 'performance',
  'queueMicrotask', 'requestAnimationFrame', 'requestIdleCallback', 'setImmediate', 'setInterval', 'setTimeout',
] as const; // biome-ignore format: a list

/** Sets the clock this number of seconds later than now, and stops the clock there. Timers run as before. */
export function passTime(seconds: number): void {
  jest.useRealTimers();
  jest.useFakeTimers({ now: Date.now() + seconds * 1000, doNotFake: [...timers] });
}

export const backToPresent = (): void => void jest.useRealTimers();

/**
 * Stops the time of this process, so that nothing expires even on a slow machine: lifetimes do not end, and calls to addresses that others
 * chose do not time out. Timers run as before.
 * @returns `at`, which sets the clock this number of seconds after the stopped time, and `resume`, which lets the time run again.
 */
export function stopTime(): { readonly at: (seconds: number) => void; readonly resume: () => void } {
  const stopped = Date.now();
  const at = (seconds: number): void => {
    jest.useRealTimers();
    jest.useFakeTimers({ now: stopped + seconds * 1000, doNotFake: [...timers] });
  };
  at(0);
  const monotonic = jest.spyOn(performance, 'now').mockReturnValue(performance.now());
  return {
    at,
    resume() {
      monotonic.mockRestore();
      backToPresent();
    },
  };
}
