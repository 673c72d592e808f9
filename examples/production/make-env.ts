/** Creates a file `.env` with new keys: node dist/examples/production/make-env.js [file] */
import { writeEnvFile } from './env-file.js';

const [file = '.env'] = process.argv.slice(2);
try {
  writeEnvFile(file);
  console.log(`${file} has new keys. Look through it, and give the same to all nodes.`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
