/** Sets the password of a user, from standard input: node dist/examples/production/password.js <user name> */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { complaint } from './complaint.js';
import { acme } from './seed.js';
import { openService } from './service.js';
import { readSettings, SettingsError } from './settings.js';

async function readPassword(): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() }); // The terminal must not show the password.
  const input = createInterface({ input: process.stdin, output: nowhere, terminal: process.stdin.isTTY });
  if (process.stdin.isTTY) process.stderr.write('New password: ');
  const [line = ''] = (await Promise.race([once(input, 'line'), once(input, 'close')])) as [string?];
  input.close();
  return line;
}

try {
  const [userName] = process.argv.slice(2);
  if (!userName) throw new SettingsError('Whose password? node dist/examples/production/password.js alice@acme.test');
  const settings = readSettings();
  const password = await readPassword();
  const { idp, close } = await openService(settings);
  try {
    const { users, credentials } = idp.tenant(acme.id);
    const person = await users.findByUserName(userName);
    if (!person) throw new SettingsError(`${acme.name} has no user ${userName}.`);
    await credentials.setPassword(person.user.id, password);
    await users.signOutEverywhere(person.user.id);
    console.log(`${userName} has a new password, and is signed out everywhere.`);
  } finally {
    await close();
  }
} catch (error) {
  console.error(complaint(error));
  process.exitCode = 1;
}
