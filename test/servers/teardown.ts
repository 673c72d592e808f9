/** After all tests: the servers that the set-up started end. */
import { once } from 'node:events';
import { keeping } from './keeping.js';

export default async function tearDown(): Promise<void> {
  const { keeper } = keeping;
  if (!keeper || keeper.exitCode !== null || keeper.signalCode !== null) return;
  const ended = once(keeper, 'exit');
  keeper.stdin?.end();
  await ended;
}
