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
