/** A project in a temporary folder with the package: the packed files, and the dependencies that the package names and no others. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { until } from '../support/time/until.js';

interface Manifest {
  readonly dependencies: Record<string, string>;
}

export interface InstalledPackage {
  /** The project's folder. */
  readonly project: string;
  /** Paths of the packed files. */
  readonly packed: readonly string[];
  /** Compiles files of the project, as strictly as possible. Returns the lines about these files and about the types of the package. */
  compile(files: readonly string[], ...options: string[]): Promise<string[]>;
}

const run = promisify(execFile);
const compiler = resolve('node_modules/@typescript/native/bin/tsc');

/** Packs the package, and installs the packed files. Writes the list of these files last. */
async function install(project: string, list: string): Promise<void> {
  const installed = join(project, 'node_modules');
  await mkdir(join(installed, 'tenant-idp'), { recursive: true });
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', project], { maxBuffer: 2 ** 24 });
  const [tarball] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  await run('tar', ['-xzf', join(project, tarball?.filename ?? ''), '-C', join(installed, 'tenant-idp'), '--strip-components=1']);
  const { dependencies } = JSON.parse(await readFile('package.json', 'utf8')) as Manifest;
  for (const name of [...Object.keys(dependencies), '@types/node']) {
    await mkdir(dirname(join(installed, name)), { recursive: true });
    await symlink(resolve('node_modules', name), join(installed, name));
  }
  await writeFile(join(project, 'package.json'), '{ "type": "module" }');
  await writeFile(`${list}.new`, JSON.stringify(tarball?.files.map(({ path }) => path)));
  await rename(`${list}.new`, list);
}

/** Returns the project, which all test files of a run share. The first call makes the project, and the others wait for it. */
export async function installPackage(): Promise<InstalledPackage> {
  const project = join(process.env.FOLDER_OF_RUN ?? '', 'consumer');
  const list = join(project, 'packed.json');
  const isFirst = await mkdir(project).then(
    () => true,
    () => false,
  );
  if (isFirst) await install(project, list);
  else await until(() => existsSync(list));
  return {
    project,
    packed: JSON.parse(await readFile(list, 'utf8')),
    async compile(files, ...options) {
      const strict = ['--strict', '--exactOptionalPropertyTypes', '--module', 'nodenext', '--target', 'es2023', '--types', 'node'];
      const args = [compiler, ...strict, ...options, '--pretty', 'false', ...files];
      const { stdout: said } = await run(process.execPath, args, { cwd: project }).catch((error: { stdout: string }) => error);
      const isAboutOurs = (line: string) => /^node_modules\/tenant-idp/.test(line) || files.some((file) => line.startsWith(file));
      return said.split('\n').filter(isAboutOurs);
    },
  };
}
