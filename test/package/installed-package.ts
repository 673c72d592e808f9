/** A project in a temporary folder that installed the package: what was packed, with the dependencies that the package names and no others. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

interface Manifest {
  readonly dependencies: Record<string, string>;
}

export interface InstalledPackage {
  /** The project's folder. */
  readonly project: string;
  /** Compiles files of the project, as strictly as one can; answers what the compiler says about them and about the types of the package. */
  compile(files: readonly string[], ...options: string[]): Promise<string[]>;
  remove(): Promise<void>;
}

const run = promisify(execFile);
const compiler = resolve('node_modules/@typescript/native/bin/tsc');

export async function installPackage(): Promise<InstalledPackage> {
  const project = await mkdtemp(join(tmpdir(), 'consumer-'));
  const installed = join(project, 'node_modules');
  await mkdir(join(installed, 'tenant-idp'), { recursive: true });
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', project]);
  const [tarball] = JSON.parse(stdout) as { filename: string }[];
  await run('tar', ['-xzf', join(project, tarball?.filename ?? ''), '-C', join(installed, 'tenant-idp'), '--strip-components=1']);
  const { dependencies } = JSON.parse(await readFile('package.json', 'utf8')) as Manifest;
  for (const name of [...Object.keys(dependencies), '@types/node']) {
    await mkdir(dirname(join(installed, name)), { recursive: true });
    await symlink(resolve('node_modules', name), join(installed, name));
  }
  await writeFile(join(project, 'package.json'), '{ "type": "module" }');

  return {
    project,
    async compile(files, ...options) {
      const strict = ['--strict', '--exactOptionalPropertyTypes', '--module', 'nodenext', '--target', 'es2023', '--types', 'node'];
      const args = [compiler, ...strict, ...options, '--pretty', 'false', ...files];
      const { stdout: said } = await run(process.execPath, args, { cwd: project }).catch((error: { stdout: string }) => error);
      const isAboutOurs = (line: string) => /^node_modules\/tenant-idp/.test(line) || files.some((file) => line.startsWith(file));
      return said.split('\n').filter(isAboutOurs);
    },
    remove: () => rm(project, { recursive: true, force: true }),
  };
}
