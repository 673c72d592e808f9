/** Defaults that are only fit for development. Production refuses them, and development logs a notice. */

import { missing, type OptionPath, valueAt, wrong } from '../config-problem.js';
import type { ConfigProblem } from '../errors.js';
import { defaults, type ResolvedOptions } from './defaults.js';

interface InsecureDefault {
  readonly path: OptionPath;
  /** Expected form of the value in production. */
  readonly expected: string;
  /** Data that is lost in development when the service stops. */
  readonly loss: string;
  /** Returns whether the default is in use, given the value at `path` and all options. */
  readonly isInUse: (value: unknown, options: unknown) => boolean;
}

/**
 * Minimum characters of a secret that a host sets for a client or an API resource. Shorter secrets are unsafe, because anyone who reaches the service can
 * guess.
 */
export const OWN_SECRET_LENGTH = 32;

const isMissing = (value: unknown): boolean => value === undefined;
const isEphemeral = (store: unknown): boolean => store === undefined || valueAt(store, ['ephemeral']) === true;

const insecureDefaults: readonly InsecureDefault[] = [
  {
    path: ['artifacts'],
    expected: 'a durable store in place of the one in memory (in production)',
    loss: 'sessions, grants and tokens are in memory, and a restart loses them',
    isInUse: isEphemeral,
  },
  {
    path: ['directory'],
    expected: 'a durable store in place of the one in memory (in production)',
    loss: 'tenants, persons and clients are in memory, and a restart loses them',
    isInUse: isEphemeral,
  },
  {
    path: ['keys', 'signing'],
    expected:
      'private signing keys as JWKs, or a durable directory with keys.encryption for the keys that the service creates (in production)',
    loss: 'the signing keys are temporary, so tokens do not verify after a restart',
    isInUse: (keys, options) =>
      isMissing(keys) && (isEphemeral(valueAt(options, ['directory'])) || isMissing(valueAt(options, ['keys', 'encryption']))),
  },
  {
    path: ['keys', 'encryption'],
    expected: 'one or more secrets of at least 32 characters, such as the output of openssl rand -base64 32 (in production)',
    loss: 'the encryption key is temporary, so encrypted values are unreadable after a restart',
    isInUse: isMissing,
  },
  {
    path: ['cookies', 'keys'],
    expected: 'one or more secrets of at least 32 characters, such as the output of openssl rand -base64 32 (in production)',
    loss: 'the cookie key is temporary, so a restart signs browsers out',
    isInUse: isMissing,
  },
];

/** A salt that was created at the start. Production works without a salt, so a created salt is not an insecure default. */
const madeSalt = { path: ['subjectSalt'], loss: 'the salt is temporary, so a restart changes pairwise identifiers' } as const;

/** Returns everything in the options that production must not run with. The options may also have other problems. */
export function findInsecureOptions(input: unknown): readonly ConfigProblem[] {
  const issuer = valueAt(input, ['issuer']);
  return [
    ...(typeof issuer === 'string' && /^http:/i.test(issuer)
      ? [wrong(['issuer'], "an https URL, such as 'https://id.example' (in production)", issuer, true)]
      : []),
    ...insecureDefaults
      .filter(({ path, isInUse }) => isInUse(valueAt(input, path), input))
      .map(({ path, expected }) => missing(path, expected)),
    ...(valueAt(input, ['trustProxy']) === undefined
      ? [
          missing(
            ['trustProxy'],
            'false without a proxy, or the number of proxies in front, because sign-in is throttled by address (in production)',
          ),
        ]
      : []),
    ...findCheapHashes(valueAt(input, ['passwords', 'scryptCost'])),
    ...findDevPasswords(valueAt(input, ['seed']), ['seed'], new Set()),
    ...findShortSecrets(input),
  ];
}

/** Returns one notice about all data that a restart loses; undefined if a restart loses nothing. */
export function developmentNotice(options: ResolvedOptions): string | undefined {
  const inUse = insecureDefaults.filter(({ path, isInUse }) => isInUse(valueAt(options, path), options));
  if (inUse.length === 0) return undefined;
  const lost = [...inUse, ...(options.subjectSalt === undefined ? [madeSalt] : [])];
  const width = Math.max(...lost.map(({ path }) => path.join('.').length));
  return boxed([
    `${options.issuer} runs with development defaults, which NODE_ENV=production refuses:`,
    '',
    ...lost.map(({ path, loss }) => `${path.join('.').padEnd(width)}  ${loss}`),
  ]);
}

function boxed(lines: readonly string[]): string {
  const width = Math.max(...lines.map(({ length }) => length));
  const edge = '─'.repeat(width + 2);
  return [`┌${edge}┐`, ...lines.map((line) => `│ ${line.padEnd(width)} │`), `└${edge}┘`].join('\n');
}

function findCheapHashes(cost: unknown): readonly ConfigProblem[] {
  const least = defaults.passwords.scryptCost;
  return typeof cost === 'number' && cost < least ? [wrong(['passwords', 'scryptCost'], `at least ${least} (in production)`, cost)] : [];
}

function findDevPasswords(value: unknown, path: OptionPath, seen: Set<unknown>): readonly ConfigProblem[] {
  if (typeof value !== 'object' || value === null || seen.has(value)) return [];
  seen.add(value);
  const isArray = Array.isArray(value);
  return Object.entries(value).flatMap(([name, inner]) => {
    const here = [...path, isArray ? Number(name) : name];
    return name === 'devPassword' && inner !== undefined
      ? [wrong(here, 'nothing, because a password for development is refused: send the user an invitation (in production)', inner)]
      : findDevPasswords(inner, here, seen);
  });
}

function findShortSecrets(input: unknown): readonly ConfigProblem[] {
  return ['clients', 'apiResources'].flatMap((kind) => {
    const records = valueAt(input, ['seed', kind]);
    const secrets = Array.isArray(records) ? records.map((record) => valueAt(record, ['secret'])) : [];
    return secrets.flatMap((secret, index) =>
      typeof secret === 'string' && secret.length < OWN_SECRET_LENGTH
        ? [wrong(['seed', kind, index, 'secret'], `at least ${OWN_SECRET_LENGTH} characters (in production)`, secret)]
        : [],
    );
  });
}
