/** An upstream provider in a separate process: bare oidc-provider. The process ends with its parent process. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startUpstream, type UpstreamProvider } from './upstream-provider.js';

type Person = UpstreamProvider['person'];
interface Order {
  readonly register?: { readonly issuer: string; readonly connectionIds: readonly string[] };
  readonly person?: Person;
}

export interface ProviderProcess {
  readonly issuer: string;
  readonly pid: number;
  register(issuer: string, connectionIds: readonly string[]): Promise<void>;
  /** Sets the person whom the provider's pages sign in. */
  signsIn(person: NonNullable<Person>): Promise<void>;
  /** Ends the process immediately, as a power cut does. */
  kill(): Promise<void>;
}

export async function startProviderProcess(): Promise<ProviderProcess> {
  const child: ChildProcess = fork(fileURLToPath(import.meta.url), { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], execArgv: [] });
  const [issuer] = (await once(child, 'message')) as [string];
  const order = async (what: Order): Promise<void> => {
    const done = once(child, 'message');
    child.send(what);
    await done;
  };
  return {
    issuer,
    pid: child.pid as number,
    register: (ours, connectionIds) => order({ register: { issuer: ours, connectionIds } }),
    signsIn: (person) => order({ person }),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

/** Runs the process. */
async function serve(): Promise<void> {
  process.on('disconnect', () => process.exit());
  const upstream = await startUpstream();
  process.on('message', ({ register, person }: Order) => {
    if (register) upstream.register(register.issuer, register.connectionIds);
    if (person) upstream.person = person;
    process.send?.('done');
  });
  process.send?.(upstream.issuer);
}

if (process.send && process.argv[1] === fileURLToPath(import.meta.url)) await serve();
