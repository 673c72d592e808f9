/** File with the settings and secrets of the service. Only the owner of the file can read the file. */
import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { databaseOf, SettingsError } from './settings.js';

const secret = () => randomBytes(32).toString('base64url');

/** Returns the value, in quotes if the value has characters with another meaning in a file `.env`, such as `#`. */
function quoted(value: string): string {
  if (/^[\w:/.@?=&%+,~-]*$/.test(value)) return value;
  const quote = ["'", '`', '"'].find((mark) => !value.includes(mark));
  if (quote === undefined || /[\r\n]/.test(value)) throw new SettingsError('DATABASE_URL has characters that a file .env cannot have.');
  return `${quote}${value}${quote}`;
}

const textOf = (
  databaseUrl: string,
): string => `# Where the service is, and its stores. Also: HOST, PORT, PROCESSES, TRUST_PROXY (how many proxies are in front), REDIS_PREFIX, and
# REDIS_CLUSTER_URLS, with commas, instead of REDIS_URL
ISSUER=http://localhost:3000
# postgres://, mongodb:// with the name of a database, or file: for one process without a server
DATABASE_URL=${quoted(databaseUrl)}
# Sessions, grants and tokens are kept in Redis instead of the database
#REDIS_URL=redis://localhost:6379

# The application that users sign in to
WEB_REDIRECT_URI=http://localhost:3001/callback
WEB_SECRET=${secret()}

# The client that administers all tenants, by dist/examples/production/admin.js
ADMIN_SECRET=${secret()}

# The same on all nodes, and not in the stores or their backups: with these keys, anybody can be the identity provider
# To replace one, put the new one and a comma before it
IDP_KEY=${secret()}
COOKIE_KEY=${secret()}
# Never to be replaced: pairwise subject identifiers are made from it
SUBJECT_SALT=${secret()}
`;

/**
 * Creates the file, with new keys.
 * @throws Error if the file exists, because data that was encrypted with lost keys cannot be decrypted
 */
export function writeEnvFile(file: string): void {
  writeFileSync(file, textOf(process.env.DATABASE_URL || 'postgres://localhost:5432/idp'), { mode: 0o600, flag: 'wx' });
}

/**
 * Returns whether a service with a file as its database starts for the first time: no keys are set, and no data is encrypted yet.
 * @throws SettingsError for the URL of a file that cannot be used
 */
export function isFirstStart(): boolean {
  const { DATABASE_URL: url = '', IDP_KEY, COOKIE_KEY, SUBJECT_SALT } = process.env;
  if (!url.startsWith('file:') || IDP_KEY || COOKIE_KEY || SUBJECT_SALT || existsSync('.env')) return false;
  return !existsSync(databaseOf(url).location);
}
