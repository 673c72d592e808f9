/**
 * A node that works on rows. The rows and the lease are in the process that started the node. The node is killed in the middle of a round.
 */
import { rounds } from '../../lib/background/rounds.js';

/** Request of the node to its parent process; `id` names the answer. */
export type Ask = { readonly id: number } & ({ readonly lease: number } | { readonly rows: true } | { readonly remove: string });
export type Answer = { readonly id: number; readonly value: unknown };

let asked = 0;
const answers = new Map<number, (value: unknown) => void>();
process.on('message', ({ id, value }: Answer) => answers.get(id)?.(value));
process.on('disconnect', () => process.exit());

function ask(question: object): Promise<unknown> {
  const id = ++asked;
  process.send?.({ id, ...question });
  return new Promise((resolve) => answers.set(id, resolve));
}

rounds({
  name: 'tidying',
  every: 10,
  lease: async (lease) => (await ask({ lease })) === true,
  leaseMs: 1_000,
  async run() {
    for (const row of (await ask({ rows: true })) as readonly string[]) {
      if (row === 'deadly') process.kill(process.pid, 'SIGKILL');
      await ask({ remove: row });
    }
    return undefined;
  },
  logger: { error: (_, message) => process.stderr.write(`${message}\n`) },
  messages: { round: 'the round failed' },
}).start();
// The timers of background work keep no process alive.
setInterval(() => {}, 1_000);
