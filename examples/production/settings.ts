/** Settings of the service, its stores and secrets: from the environment, or from a file `.env` in the working folder. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export interface Settings {
  readonly issuer: string;
  /** Address and port that all processes of the service share. */
  readonly host: string;
  readonly port: number;
  readonly processes: number;
  /** Number of proxies in front of the service, each of which adds an entry to X-Forwarded-For. */
  readonly proxies: number;
  /** Database of the directory, and of the artifacts unless `redis` is set. */
  readonly database: Database;
  /** URL of one server, or URLs of the nodes of a Cluster. */
  readonly redis?: { readonly url: string } | { readonly clusterUrls: readonly string[] };
  /** Prefix of all store keys in Redis. */
  readonly redisPrefix: string;
  /** Encryption keys. In every list of keys, the newest key is the first. */
  readonly encryptionKeys: readonly string[];
  readonly cookieKeys: readonly string[];
  readonly subjectSalt: string;
  /** Secret and redirect URI of the client in the seed. */
  readonly web: { readonly secret: string; readonly redirectUri: string };
  /** Secret of the client that administers all tenants. If the secret is absent, there is no such client. */
  readonly adminSecret?: string;
}

/** A database by its kind, and its URL or the name of its file. */
export interface Database {
  readonly kind: 'postgres' | 'mongodb' | 'file';
  readonly location: string;
}

/** Error that the operator who starts the service can correct. */
export class SettingsError extends Error {}

const required = ['ISSUER', 'DATABASE_URL', 'IDP_KEY', 'COOKIE_KEY', 'SUBJECT_SALT', 'WEB_SECRET', 'WEB_REDIRECT_URI'] as const;

/** Reads the settings. @throws SettingsError with the names of all missing variables, or the name of an invalid variable. */
export function readSettings(): Settings {
  loadEnvFile();
  const { env } = process;
  const missing = required.filter((name) => !env[name]);
  if (missing.length > 0) {
    throw new SettingsError(
      `Not set: ${missing.join(', ')}. For a new service, node dist/examples/production/make-env.js makes a file .env that has them all. ` +
        'A service that has records needs the file .env of its first start, because the records are encrypted with its keys.',
    );
  }
  const given = (name: string): string => env[name] ?? '';
  const database = databaseOf(given('DATABASE_URL'));
  return {
    issuer: given('ISSUER'),
    host: env.HOST || '127.0.0.1',
    port: numberOf('PORT', 3000, 1, 65_535),
    processes: processesOf(database),
    // The service serves http. A service with an https issuer therefore has a proxy that ends TLS.
    proxies: numberOf('TRUST_PROXY', given('ISSUER').startsWith('https:') ? 1 : 0, 0, 10),
    database,
    ...redisOf(env),
    redisPrefix: env.REDIS_PREFIX || 'idp:',
    encryptionKeys: given('IDP_KEY').split(','),
    cookieKeys: given('COOKIE_KEY').split(','),
    subjectSalt: given('SUBJECT_SALT'),
    web: { secret: given('WEB_SECRET'), redirectUri: given('WEB_REDIRECT_URI') },
    ...(env.ADMIN_SECRET && { adminSecret: env.ADMIN_SECRET }),
  };
}

/** Adds the variables of the file that are not set in the environment. */
function loadEnvFile(): void {
  if (!existsSync('.env')) return;
  try {
    process.loadEnvFile('.env');
  } catch {
    // The error of Node.js would state that there is no such file.
    throw new SettingsError('The file .env cannot be read. Start the service as the user who owns the file.');
  }
}

function numberOf(name: string, otherwise: number, least: number, most: number): number {
  const text = process.env[name] || String(otherwise);
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= least && number <= most) return number;
  throw new SettingsError(`${name} is ${JSON.stringify(text)}: it has to be a number from ${least} to ${most}.`);
}

function redisOf({ REDIS_URL: url, REDIS_CLUSTER_URLS: urls }: NodeJS.ProcessEnv): Pick<Settings, 'redis'> {
  if (urls) return { redis: { clusterUrls: urls.split(',') } };
  return url ? { redis: { url } } : {};
}

/** Returns the number of processes. Only one process can use the file of a database. */
function processesOf({ kind }: Database): number {
  if (kind !== 'file') return numberOf('PROCESSES', 2, 1, 1_000);
  const processes = numberOf('PROCESSES', 1, 1, 1_000);
  if (processes === 1) return 1;
  throw new SettingsError(`PROCESSES is ${processes}, and one process alone can use a file: set it to 1, or DATABASE_URL to a server.`);
}

/** Returns the database of a URL. Errors do not repeat the URL, because the URL may contain a password. */
export function databaseOf(url: string): Database {
  if (/^postgres(ql)?:/.test(url)) return { kind: 'postgres', location: url };
  if (url.startsWith('file:')) return { kind: 'file', location: fileOfUrl(url) };
  // If the URL has no name of a database, the driver would use the database `test`.
  if (/^mongodb(\+srv)?:\/\/[^/]+\/[^/?]+/.test(url)) return { kind: 'mongodb', location: url };
  if (/^mongodb/.test(url)) throw new SettingsError('The URL of MongoDB has to name a database: mongodb://localhost:27017/idp');
  throw new SettingsError('The URL of the database has to begin with postgres://, mongodb:// or file:, such as file:./idp.db');
}

/** Returns the path of a file URL. A path after `file:` without slashes is relative to the working folder, as in `file:./idp.db`. */
function fileOfUrl(url: string): string {
  if (/^file:(?:$|\/\/[^/])|\?/.test(url)) {
    throw new SettingsError('The URL of a file is file: and a path without parameters, as in file:./idp.db or file:/var/lib/idp/idp.db');
  }
  return url.startsWith('file:///') ? fileURLToPath(url) : url.slice('file:'.length);
}
