/** Programs that others wrote. A test with one runs on request if the program is there, and is skipped with a reason otherwise. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from '@jest/globals';

/** Registers a test that runs with RELYING_PARTIES=yes if the tool is there. @param probe a command that succeeds with the tool */
export const byHand = (name: string, probe: readonly string[], run: () => Promise<void>): void => {
  const [program = '', ...args] = probe;
  const isAsked = process.env.RELYING_PARTIES === 'yes';
  const isThere = isAsked && spawnSync(program, args, { stdio: 'ignore' }).status === 0;
  (isThere ? test : test.skip)(isThere ? name : `${name} (RELYING_PARTIES=yes, and \`${probe.join(' ')}\` has to work)`, run);
};

/** Starts a program, and waits until it answers at the URL. */
export async function startProgram(command: readonly string[], env: Readonly<Record<string, string>>, url: string): Promise<ChildProcess> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => (output = (output + data.toString()).slice(-4000)));
  for (;;) {
    const answers = await fetch(url, { redirect: 'manual' }).then(
      () => true,
      () => false,
    );
    if (answers) return child;
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}: ${output}`);
    await pause(50);
  }
}
