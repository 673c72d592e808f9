import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface EarlierBuild {
  /** Folder with the modules of the contestants. */
  readonly servers: string;
  remove(): Promise<void>;
}

/**
 * Returns this bench over an earlier build of the library: a folder with copies of the bench, and with links to the build and to the dependencies of another
 * checkout. A contestant of that folder serves the data of the present bench, by the earlier library.
 *
 * @param checkout folder of the other checkout, with its `dist`
 */
export async function joinEarlierBuild(checkout: string): Promise<EarlierBuild> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-before-'));
  for (const name of ['package.json', 'node_modules']) await symlink(resolve(checkout, name), join(folder, name));
  const present = fileURLToPath(new URL('../..', import.meta.url));
  for (const name of ['bench', 'test/support']) await cp(join(present, name), join(folder, 'dist', name), { recursive: true });
  for (const name of ['lib', 'adapters', 'extensions']) await symlink(resolve(checkout, 'dist', name), join(folder, 'dist', name));
  return { servers: join(folder, 'dist/bench/servers'), remove: () => rm(folder, { recursive: true, force: true }) };
}
