/** A service in a separate process: opens the stores of a file, does its task until it is killed, and prints each acknowledged write. */
import { writeSync } from 'node:fs';
import { sqliteArtifacts, sqliteDirectory } from 'tenant-idp/adapters/sqlite';
import { hashedKey } from '../../../lib/store/artifact-key.js';

export interface SqliteNodeTask {
  readonly file: string;
  /** Name of the round, so that no two rounds write the same records. */
  readonly round: string;
  /** `write`: commits, spends and inserts as fast as possible. `hold`: keeps the file open. */
  readonly task: 'write' | 'hold';
}

const { file, round, task } = JSON.parse(process.argv[2] ?? '') as SqliteNodeTask;
const CALLERS = 20;
const later = () => Date.now() + 3_600_000;
/** Writes the line to the pipe before the call returns, so that a kill cannot lose the line. Retries while the pipe is full. */
function say(line: string): void {
  for (let isWritten = false; !isWritten; ) {
    try {
      writeSync(1, `${line}\n`);
      isWritten = true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  }
}

const artifacts = sqliteArtifacts({ file });
const directory = sqliteDirectory({ file });
try {
  await artifacts.open();
  await directory.open([{ name: 'rows', indexes: { byName: { fields: ['name'], unique: true } } }]);
} catch (error) {
  say(`failed ${JSON.stringify(error)}`);
  process.exit(1);
}
say('open');
if (task === 'hold') setInterval(() => {}, 1000);
else await Promise.all(Array.from({ length: CALLERS }, (_, caller) => writeFor(caller)));

async function writeFor(caller: number): Promise<void> {
  const rows = directory.collection('rows');
  for (let count = 0; ; count += 1) {
    const name = `${round}-${caller}-${count}`;
    const key = hashedKey('Code', name);
    const code = { op: 'put', key, value: name, expiresAt: later() } as const;
    if ((await artifacts.commit([{ ...code, if: 'absent' }])).ok) say(`code ${name}`);
    const spend = { ...code, if: 'unconsumed', consumedAt: Date.now() } as const;
    const token = { op: 'put', key: hashedKey('Token', name), value: name, expiresAt: later() } as const;
    // Two callers redeem the same code at the same time.
    const outcomes = await Promise.all([artifacts.commit([spend, token]), artifacts.commit([spend, token])]);
    for (const { ok } of outcomes) if (ok) say(`spent ${name}`);
    await rows.insert({ id: name, name } as never);
    say(`row ${name}`);
  }
}
