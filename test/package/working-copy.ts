/** A small working copy in a temporary folder, with an npm and a compiler that only write down that they were called. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { until } from '../support/time/until.js';

const record = `const { appendFileSync, cpSync, mkdirSync, writeFileSync } = require('node:fs');
const { basename, join } = require('node:path');
const root = ROOT;
const inRoot = (...parts) => join(root, ...parts);
const called = (...words) => appendFileSync(inRoot('calls'), words.join(' ') + '\\n');
`;

const npm = `${record}
called('npm', process.argv[2], process.argv[3]);
if (process.env.FAIL === 'npm') process.exit(7);
if (process.env.HANG) {
  writeFileSync(inRoot('hanging'), String(process.pid));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
if (process.env.SLOW) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500); // a second run may arrive
mkdirSync(inRoot('node_modules', '@typescript', 'native', 'bin'), { recursive: true });
cpSync(inRoot('tsc.cjs'), inRoot('node_modules', '@typescript', 'native', 'bin', 'tsc'));
cpSync(inRoot('package-lock.json'), inRoot('node_modules', '.package-lock.json'));
`;

const tsc = `${record}
called('tsc');
if (process.env.FAIL === 'tsc') process.exit(2);
mkdirSync(inRoot('dist'), { recursive: true });
`;

const lockFile = (version: string) => JSON.stringify({ packages: { '': {}, 'node_modules/koa': { version } } });

interface Invocation {
  /** Mode of the step: `prepack`, `start` or nothing. */
  readonly mode?: string[];
  /** Ports of the demo. */
  readonly PORT?: string;
  readonly RP_PORT?: string;
  /** Flags of the Node process that runs the step. */
  readonly flags?: string[];
  /** The program that fails: `npm` or `tsc`. */
  readonly FAIL?: string;
  /** If set, npm waits for half a second. */
  readonly SLOW?: string;
}

interface Run {
  readonly code: number;
  readonly output: string;
}

/** Creates the state after a clone: no packages, nothing built. */
export async function cloneWorkingCopy() {
  const root = await mkdtemp(join(tmpdir(), 'ready-'));
  const path = (file: string) => join(root, file);
  const write = async (file: string, text: string) => {
    await mkdir(dirname(path(file)), { recursive: true });
    await writeFile(path(file), text.replace('ROOT', JSON.stringify(root)));
  };
  await copyFile('ready.mjs', path('ready.mjs'));
  await write('package.json', '{}');
  await write('tsconfig.json', '{}');
  await write('package-lock.json', lockFile('1.0.0'));
  await write('lib/index.ts', 'export const one = 1;');
  await write('npm-cli.js', npm);
  await write('tsc.cjs', tsc);
  return {
    path,
    write,
    /** Requires another version of the one dependency. */
    changeDependency: () => write('package-lock.json', lockFile('2.0.0')),
    ready: ({ mode = [], flags = [], ...env }: Invocation = {}) =>
      new Promise<Run>((resolve) => {
        const args = [...flags, path('ready.mjs'), ...mode];
        const options = { env: { ...process.env, ...env, npm_execpath: path('npm-cli.js') } };
        execFile(process.execPath, args, options, (error, stdout, stderr) =>
          resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr }),
        );
      }),
    /** Starts a run and waits until its npm hangs. Returns the process and the id of that npm. */
    async hanging(): Promise<{ readonly child: ChildProcess; readonly npm: number }> {
      const env = { ...process.env, HANG: 'yes', npm_execpath: path('npm-cli.js') };
      const child = spawn(process.execPath, [path('ready.mjs')], { env, stdio: 'ignore' });
      const npm = await until(() => readFile(path('hanging'), 'utf8').then(Number, () => 0));
      await rm(path('hanging'));
      return { child, npm };
    },
    /** Returns the programs that were called since the last time. */
    calls: async () => {
      const text = await readFile(path('calls'), 'utf8').catch(() => '');
      await rm(path('calls'), { force: true });
      return text.split('\n').filter((line) => line !== '');
    },
    remove: () => rm(root, { recursive: true, force: true }),
  };
}
