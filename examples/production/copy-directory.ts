/** Copies the directory to another database while the service is stopped: node dist/examples/production/copy-directory.js <from> <to> */
import { copyDirectory } from 'tenant-idp';
import { complaint } from './complaint.js';
import { databaseOf, SettingsError } from './settings.js';
import { openDatabase, type Stores } from './stores.js';

const opened: Stores[] = [];
try {
  const [from, to] = process.argv.slice(2);
  if (!from || !to) throw new SettingsError('Two URLs are needed, as in: copy-directory.js mongodb://localhost:27017/idp file:./idp.db');
  for (const url of [from, to]) opened.push(await openDatabase(databaseOf(url)));
  const [source, target] = opened as [Stores, Stores];
  const counts = await copyDirectory({ from: source.directory, to: target.directory });
  const copied = Object.entries(counts).filter(([, count]) => count > 0);
  // A store makes a missing database, so a misspelt name leads to an empty database.
  if (copied.length === 0) throw new SettingsError('The database to copy from has no records. Check its URL.');
  for (const [collection, count] of copied) console.log(`${collection}: ${count}`);
  console.log('Set DATABASE_URL to the new database. All users sign in again.');
} catch (error) {
  console.error(complaint(error));
  process.exitCode = 1;
} finally {
  for (const { directory, close } of opened) {
    await directory.close();
    await close();
  }
}
