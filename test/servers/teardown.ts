/** After all tests: the folder that they shared goes, and the servers that the set-up started end. */
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { keeping } from './keeping.js';

export default async function tearDown(): Promise<void> {
  const { keeper, folder } = keeping;
  if (folder) await rm(folder, { recursive: true, force: true });
  if (!keeper || keeper.exitCode !== null || keeper.signalCode !== null) return;
  const ended = once(keeper, 'exit');
  keeper.stdin?.end();
  await ended;
}
