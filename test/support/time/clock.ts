import { jest } from '@jest/globals';

const timers = [
  'cancelAnimationFrame', 'cancelIdleCallback', 'clearImmediate', 'clearInterval', 'clearTimeout', 'hrtime', 'nextTick', 'performance',
  'queueMicrotask', 'requestAnimationFrame', 'requestIdleCallback', 'setImmediate', 'setInterval', 'setTimeout',
] as const; // biome-ignore format: a list

/** Makes it so many seconds later than it is, and keeps it then; timers run as before. */
export function passTime(seconds: number): void {
  jest.useRealTimers();
  jest.useFakeTimers({ now: Date.now() + seconds * 1000, doNotFake: [...timers] });
}

export const backToPresent = (): void => void jest.useRealTimers();

/**
 * Stops the time of this process, so that nothing comes too late however slow the machine is: lifetimes do not end, and calls to addresses that others
 * chose are waited for. Timers run as before.
 * @returns what sets the clock so many seconds later than it was stopped at. `resume` ends it.
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
