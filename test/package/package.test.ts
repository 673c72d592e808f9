/** The files that users of the package get, and the texts that the repository keeps out. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { pageAt, pages } from '../docs/pages.js';
import { installPackage } from './installed-package.js';

interface Manifest {
  readonly exports: Record<string, string>;
}

interface LockFile {
  readonly packages: Record<string, { readonly optionalDependencies?: Record<string, string> }>;
}

const run = async (program: string, ...args: string[]) => (await promisify(execFile)(program, args, { maxBuffer: 2 ** 24 })).stdout;
const readJson = async <T>(file: string) => JSON.parse(await readFile(file, 'utf8')) as T;

/** `./dist/lib/index.js` → `lib/index`. */
const stem = (target: string) => target.replace(/^\.\/dist\//, '').replace(/\.js$/, '');

/** Returns the package in whose node_modules a path lies: `node_modules/a/node_modules/b` → `node_modules/a`, and at last ''. */
const enclosing = (path: string) => path.replace(/\/?node_modules\/(@[^/]+\/)?[^/]+$/, '');

const exported = (await readJson<Manifest>('package.json')).exports;
const entries = Object.entries(exported).filter(([, target]) => target.endsWith('.js'));

describe('design §1: the package', () => {
  let packed: readonly string[];

  beforeAll(async () => {
    ({ packed } = await installPackage());
  });

  test('holds compiled code, types, maps, sources, documentation and examples, and nothing else', () => {
    const allowed = [
      /^dist\/(lib|adapters|extensions)\/.+\.(js|d\.ts)(\.map)?$/,
      /^(lib|adapters|extensions)\/.+\.ts$/,
      /^docs\/(reference\/)?[\w-]+\.md$/,
      /^examples\/.+\.(ts|yaml|png)$/,
      /^(README|CHANGELOG|SECURITY)\.md$/,
      /^(LICENSE|package\.json)$/,
    ];
    expect(packed.filter((path) => !allowed.some((pattern) => pattern.test(path)))).toEqual([]);
    expect(packed).toEqual(expect.arrayContaining(['README.md', 'LICENSE', 'package.json']));
  });

  test('has every file that a page in it links to', () => {
    const inside = pages.filter(({ path }) => packed.includes(path));
    const targets = inside.flatMap(({ path, links }) =>
      links
        .filter((link) => !/^(#|https?:)/.test(link))
        .map((link) => ({ path, target: normalize(join(dirname(path), link.replace(/#.*/, ''))) })),
    );
    expect(inside.length).toBeGreaterThan(10);
    expect(targets.filter(({ target }) => !packed.some((file) => file === target || file.startsWith(target)))).toEqual([]);
  });

  test('takes the range of oidc-provider that the changelog promises', async () => {
    const { dependencies } = await readJson<{ dependencies: Record<string, string> }>('package.json');
    expect(pageAt('CHANGELOG.md').section('Versions')).toContain(`\`${dependencies['oidc-provider']}\``);
  });

  test('has no script that npm would run, or warn of, when it is installed', async () => {
    const { scripts } = await readJson<{ scripts: object }>('package.json');
    for (const name of ['preinstall', 'install', 'postinstall', 'prepare']) expect(scripts).not.toHaveProperty(name);
  });

  test.each(entries)('%s comes with code, types, maps and source', (_, target) => {
    const compiled = ['.js', '.js.map', '.d.ts', '.d.ts.map'].map((ending) => `dist/${stem(target)}${ending}`);
    expect(packed).toEqual(expect.arrayContaining([...compiled, `${stem(target)}.ts`]));
  });

  test('each entry imports in a plain Node process', async () => {
    const names = entries.map(([path]) => path.replace(/^\./, 'tenant-idp'));
    const script = `for (const name of ${JSON.stringify(names)}) console.log(name, Object.keys(await import(name)).length > 0);`;
    expect(await run(process.execPath, '--input-type=module', '--eval', script)).toBe(names.map((name) => `${name} true\n`).join(''));
  });

  test('each entry is documented', async () => {
    const { entryPoints } = await readJson<{ entryPoints: string[] }>('typedoc.json');
    expect(entryPoints).toEqual(entries.map(([, target]) => `${stem(target)}.ts`));
  });
});

describe('the repository', () => {
  test('package-lock.json names no registry', async () => {
    expect(await readFile('package-lock.json', 'utf8')).not.toMatch(/"resolved"|registry[.]/);
  });

  test('package-lock.json has the optional packages of every platform, without which `npm ci` refuses it', async () => {
    const { packages } = await readJson<LockFile>('package-lock.json');
    const isLocked = (from: string, name: string): boolean =>
      `${from}/node_modules/${name}`.replace(/^\//, '') in packages || (from !== '' && isLocked(enclosing(from), name));
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter((name) => !isLocked(path, name)),
    );
    expect(missing).toEqual([]);
  });

  (existsSync('.git') ? test : test.skip)('no tracked file has loose ends, a path of somebody’s machine or a registry', async () => {
    const files = (await run('git', 'ls-files', '-z')).split('\0').filter((file) => file !== '' && existsSync(file));
    const unwanted = /\b(T[O]DO|F[I]XME|X[X]X)\b|(?<![\w.:/-])\/(?:home|Users|root|work)\/|registry[.]npmjs/;
    const found = files.map(async (file) => ({ file, match: unwanted.exec(await readFile(file, 'latin1'))?.[0] }));
    expect((await Promise.all(found)).filter(({ match }) => match !== undefined)).toEqual([]);
  });
});
