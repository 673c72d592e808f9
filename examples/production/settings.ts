/** Settings of the service, its stores and secrets: from the environment, or from a file `.env` in the working folder. */
import { existsSync } from 'node:fs';

export interface Settings {
  readonly issuer: string;
  /** Address and port that the processes share. */
  readonly host: string;
  readonly port: number;
  readonly processes: number;
  /** Number of proxies in front of the service, each of which adds an entry to X-Forwarded-For. */
  readonly proxies: number;
  /** URL of one server, or URLs of the nodes of a Cluster. */
  readonly redis: { readonly url: string } | { readonly clusterUrls: readonly string[] };
  /** Prefix of all keys in Redis. */
  readonly redisPrefix: string;
  /** URL of MongoDB, with the name of the database. */
  readonly mongoUrl: string;
  /** Encryption keys, newest first, like all lists of keys. */
  readonly encryptionKeys: readonly string[];
  readonly cookieKeys: readonly string[];
  readonly subjectSalt: string;
  /** Secret and redirect URI of the client in the seed. */
  readonly web: { readonly secret: string; readonly redirectUri: string };
  /** Secret of the client that administers all tenants. If absent, there is no such client. */
  readonly adminSecret?: string;
}

/** An error that the operator who starts the service can correct. */
export class SettingsError extends Error {}

const required = ['ISSUER', 'MONGODB_URL', 'IDP_KEY', 'COOKIE_KEY', 'SUBJECT_SALT', 'WEB_SECRET', 'WEB_REDIRECT_URI'] as const;

/** @throws SettingsError with the names of all missing variables, or the name of an invalid variable. */
export function readSettings(): Settings {
  // The file adds variables that the environment lacks.
  if (existsSync('.env')) process.loadEnvFile('.env');
  const { env } = process;
  const missing = [...required.filter((name) => !env[name]), ...(env.REDIS_URL || env.REDIS_CLUSTER_URLS ? [] : ['REDIS_URL'])];
  if (missing.length > 0) {
    throw new SettingsError(
      `Not set: ${missing.join(', ')}. node dist/examples/production/make-env.js makes a file .env that has them all.`,
    );
  }
  const given = (name: string): string => env[name] ?? '';
  return {
    issuer: given('ISSUER'),
    host: env.HOST || '127.0.0.1',
    port: numberOf('PORT', 3000, 1, 65_535),
    processes: numberOf('PROCESSES', 2, 1, 1_000),
    // The service speaks http. With an https issuer, there is a proxy that ends TLS.
    proxies: numberOf('TRUST_PROXY', given('ISSUER').startsWith('https:') ? 1 : 0, 0, 10),
    redis: env.REDIS_CLUSTER_URLS ? { clusterUrls: env.REDIS_CLUSTER_URLS.split(',') } : { url: given('REDIS_URL') },
    redisPrefix: env.REDIS_PREFIX || 'idp:',
    mongoUrl: mongoUrlOf(given('MONGODB_URL')),
    encryptionKeys: given('IDP_KEY').split(','),
    cookieKeys: given('COOKIE_KEY').split(','),
    subjectSalt: given('SUBJECT_SALT'),
    web: { secret: given('WEB_SECRET'), redirectUri: given('WEB_REDIRECT_URI') },
    ...(env.ADMIN_SECRET && { adminSecret: env.ADMIN_SECRET }),
  };
}

function numberOf(name: string, otherwise: number, least: number, most: number): number {
  const text = process.env[name] || String(otherwise);
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= least && number <= most) return number;
  throw new SettingsError(`${name} is ${JSON.stringify(text)}: it has to be a number from ${least} to ${most}.`);
}

/**
 * Returns the URL. If the URL has no name of a database, the driver would use the database `test`. Errors do not repeat the URL, because the URL may hold a
 * password.
 */
function mongoUrlOf(url: string): string {
  if (/^mongodb(\+srv)?:\/\/[^/]+\/[^/?]+/.test(url)) return url;
  throw new SettingsError('MONGODB_URL has to name a database: mongodb://localhost:27017/idp');
}
