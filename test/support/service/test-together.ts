import { beforeAll, test } from '@jest/globals';

/**
 * Registers a test that mostly waits. All of these tests in a file, or in the `describe` around the call, begin concurrently before the
 * others. If PROVE is set, each test has the machine to itself.
 */
export function testTogether(title: string, run: () => Promise<unknown>): void {
  let running: Promise<unknown> | undefined;
  if (!process.env.PROVE)
    beforeAll(() => {
      running = run();
      // The test reports the error.
      running.catch(() => {});
    });
  test(title, async () => {
    await (running ?? run());
  });
}
