/** Data of the demo with `--data <file>`. The demo keeps its records in the file, and its keys in a second file in the same folder. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type IdentityProviderOptions, IdpError } from 'tenant-idp';
import { sqliteArtifacts, sqliteDirectory } from 'tenant-idp/adapters/sqlite';
import { SettingsError } from './settings.js';

/** Values that the demo needs again after a restart. The records are encrypted with these keys. */
export interface Keys {
  readonly encryption: string;
  readonly cookies: string;
  readonly subjectSalt: string;
  /** Port of the organisation's own provider, whose address is part of the identities of its users. */
  readonly ownProviderPort: number;
}

const secret = () => randomBytes(32).toString('base64url');

const keysPath = (file: string): string => `${file}.keys.json`;

/**
 * Returns the keys of an earlier start; undefined if there was no earlier start.
 * @throws SettingsError if the keys cannot be read, or if only the records exist, because the records are encrypted with the keys
 */
export function storedKeys(file: string): Keys | undefined {
  const path = keysPath(file);
  if (existsSync(path)) {
    try {
      return JSON.parse(readFileSync(path, 'utf8')) as Keys;
    } catch {
      // The error of the parser may contain a key.
      throw new SettingsError(`${path} cannot be read: put the keys of the first start back, or name another file.`);
    }
  }
  if (!existsSync(file)) return undefined;
  throw new SettingsError(`${path} is missing, and the records in ${file} are encrypted with its keys: put it back, or name another file.`);
}

/** Creates the keys, and writes the keys to a file. @throws SettingsError if the file cannot be written, such as in a folder that does not exist */
export function makeKeys(file: string, ownProviderPort: number): Keys {
  const keys: Keys = { encryption: secret(), cookies: secret(), subjectSalt: secret(), ownProviderPort };
  try {
    writeFileSync(keysPath(file), `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    throw new SettingsError(`--data ${file}: ${(error as Error).message}. Name a file in a folder that you may write.`);
  }
  return keys;
}

/** Opens both stores of a file. @throws SettingsError on a Node.js without SQLite */
export function openStores(file: string): Pick<IdentityProviderOptions, 'artifacts' | 'directory'> {
  try {
    return { artifacts: sqliteArtifacts({ file }), directory: sqliteDirectory({ file }) };
  } catch (error) {
    if (!(error instanceof IdpError)) throw error;
    throw new SettingsError(`--data ${file}: ${error.message} ${JSON.stringify(error.details)}`);
  }
}

export const keyOptions = ({ encryption, cookies, subjectSalt }: Keys) =>
  ({ keys: { encryption: [encryption] }, cookies: { keys: [cookies] }, subjectSalt }) satisfies Partial<IdentityProviderOptions>;
