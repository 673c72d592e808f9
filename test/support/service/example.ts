/** Examples as users run them: each in its own process, with its ports from the environment. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { MARK } from '../../servers/reaper.js';
import { freePort } from './free-port.js';

export interface RunningExample {
  readonly stdout: string;
  readonly stderr: string;
  /** Ends the example as an operating system does. @returns The exit code. */
  stop(): Promise<number | null>;
}

/** Warning of oidc-provider on Node 20. */
export const runtimeWarning = /^oidc-provider WARNING: Unsupported runtime\..*\n/m;

/**
 * @param name a folder of `examples`, for its `main`, or one of its programs: `production/make-env`.
 * @param cwd working folder. @default the repository
 */
function run(
  name: string,
  env: Record<string, string>,
  args: readonly string[] = [],
  cwd = '.',
): { child: ChildProcess; output: { stdout: string; stderr: string } } {
  const program = name.includes('/') ? name : `${name}/main`;
  const child = spawn(process.execPath, [resolve(`dist/examples/${program}.js`), ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? '', NODE_OPTIONS: process.env.NODE_OPTIONS ?? '', [MARK]: process.env[MARK], ...env },
    stdio: 'pipe',
  });
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text.replace(runtimeWarning, '');
    });
  }
  return { child, output };
}

/** Starts an example. Resolves at the example's first output, when the example serves. */
export async function startExample(
  name: string,
  env: Record<string, string>,
  args: readonly string[] = [],
  cwd?: string,
): Promise<RunningExample> {
  const { child, output } = run(name, env, args, cwd);
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const spoke = child.stdout ? once(child.stdout, 'data').then(() => 'spoke') : undefined;
  if ((await Promise.race([spoke, ended])) !== 'spoke') throw new Error(`${name} ended: ${output.stderr}`);
  return {
    get stdout() {
      return output.stdout;
    },
    get stderr() {
      return output.stderr;
    },
    stop() {
      child.kill('SIGTERM');
      return ended;
    },
  };
}

export interface RunningDemo extends RunningExample {
  /** Origin of the identity provider. */
  readonly idp: string;
  /** Origin of the application. */
  readonly rp: string;
}

/** Starts the demo on free ports. */
export async function startDemo(args: readonly string[] = [], env: Record<string, string> = {}): Promise<RunningDemo> {
  const [port, rpPort] = [await freePort(), await freePort()];
  const demo = await startExample('local', { PORT: String(port), RP_PORT: String(rpPort), ...env }, args);
  return Object.assign(demo, { idp: `http://localhost:${port}`, rp: `http://localhost:${rpPort}` });
}

interface RunOptions {
  readonly args?: readonly string[];
  /** Text for the standard input. */
  readonly input?: string;
  /** Working folder. @default the repository */
  readonly cwd?: string;
}

/** Runs an example that ends by itself. */
export async function runExample(name: string, env: Record<string, string>, { args, input = '', cwd }: RunOptions = {}) {
  const { child, output } = run(name, env, args, cwd);
  child.stdin?.on('error', () => {}).end(input); // the example may end before reading
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...output };
}
