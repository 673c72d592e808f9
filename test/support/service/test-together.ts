import { beforeAll, test } from '@jest/globals';

/**
 * Registers a test that mostly waits: those of a file, or of the `describe` around the call, begin at once before the others. Under PROVE each has
 * the machine to itself.
 */
export function testTogether(title: string, run: () => Promise<unknown>): void {
  let running: Promise<unknown> | undefined;
  if (!process.env.PROVE)
    beforeAll(() => {
      running = run();
      // Its test tells.
      running.catch(() => {});
    });
  test(title, async () => {
    await (running ?? run());
  });
}
