/** A project that installed the package: what it gets is what was packed, with the dependencies that the package names and no others. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

interface Manifest {
  readonly dependencies: Record<string, string>;
}

const program = `import { createIdentityProvider, defineClaims, type IdentityProvider } from 'tenant-idp';
import { testArtifactStore, testDirectoryStore } from 'tenant-idp/adapters/conformance';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';

const hr = defineClaims({
  name: 'hr',
  load: async ({ person }) => ({ costCenter: person.externalId ?? 'none' }),
  claims: { cost_center: { scope: 'hr', type: 'string', description: 'Cost centre', value: ({ data }) => data.costCenter } },
});
export const start = (issuer: string): Promise<IdentityProvider> =>
  createIdentityProvider({ issuer, claims: [hr], artifacts: memoryArtifacts(), directory: memoryDirectory() });
export const koa = async () => (await start('http://localhost:3000')).middleware();
testArtifactStore('memory', async () => memoryArtifacts());
testDirectoryStore('memory', async () => memoryDirectory());
`;

const run = promisify(execFile);
const compiler = resolve('node_modules/@typescript/native/bin/tsc');

describe('design §1: in a project that installed the package', () => {
  let project: string;

  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), 'consumer-'));
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
  });
  afterAll(() => rm(project, { recursive: true, force: true }));

  /** What the compiler says about the program, and about the types of the package. */
  async function compile(source: string): Promise<string[]> {
    await writeFile(join(project, 'main.ts'), source);
    const options = [
      '--noEmit',
      '--strict',
      '--exactOptionalPropertyTypes',
      '--module',
      'nodenext',
      '--target',
      'es2023',
      '--types',
      'node',
    ];
    const { stdout } = await run(process.execPath, [compiler, ...options, '--pretty', 'false', 'main.ts'], { cwd: project }).catch(
      (error: { stdout: string }) => error,
    );
    return stdout.split('\n').filter((line) => /^(main\.ts|node_modules\/tenant-idp)/.test(line));
  }

  test('a program type-checks, and so do the types it was given', async () => {
    expect(await compile(program)).toEqual([]);
  });

  test('a program that uses what is not there does not', async () => {
    const wrong = program.replace('.middleware()', '.nothing()').replace("type: 'string'", "type: 'number'");
    expect(await compile(wrong)).toEqual([expect.stringMatching(/^main\.ts/), expect.stringMatching(/^main\.ts/)]);
  });

  test('it runs', async () => {
    const script = `import { createIdentityProvider } from 'tenant-idp';
      const idp = await createIdentityProvider({ issuer: 'http://localhost:3000', logger: { debug() {}, info() {}, warn() {}, error: console.error } });
      console.log(idp.issuer, (await idp.health()).status);
      await idp.close();`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: project });
    expect(stdout).toBe('http://localhost:3000 up\n');
  });

  test('drivers that are not installed are not missed until they are used', async () => {
    const script = `const { redisOptions } = await import('tenant-idp/adapters/redis');
      console.log(redisOptions.enableOfflineQueue, await import('ioredis').catch(({ code }) => code));`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: project });
    expect(stdout).toBe('false ERR_MODULE_NOT_FOUND\n');
  });
});
