/** From what the host gave to what everything else relies on: checked as a whole, complete, frozen. */
import type { JWK } from 'jose';
import type { FoundProblems } from '../config-problem.js';
import { ConfigError, type ConfigProblem } from '../errors.js';
import { findContradictions } from './contradictions.js';
import { defaults, type ResolvedOptions } from './defaults.js';
import { isHandedOver, settableFeatures, withRefusals } from './features.js';
import { findInsecureOptions } from './insecure.js';
import type { IdentityProviderOptions } from './options.js';
import { findShapeProblems } from './schema.js';
import { signingAlgorithm } from './values.js';

/**
 * @throws ConfigError with everything that is wrong: `invalid_options`, or `extension_conflict` when two parts of it claim the same,
 * `insecure_options` when it is merely not fit for production.
 */
export function resolveOptions(input: unknown, env: NodeJS.ProcessEnv = process.env, found: FoundProblems = {}): ResolvedOptions {
  const production = env.NODE_ENV === 'production';
  const { invalid: others = [], conflicts = [] } = found;
  const invalid = [...findShapeProblems(input), ...findContradictions(input), ...others];
  const insecure = production ? findInsecureOptions(input) : [];
  const problems = onceEach([...invalid, ...conflicts, ...insecure]);
  if (problems.length > 0) {
    throw new ConfigError(
      invalid.length > 0 ? 'invalid_options' : conflicts.length > 0 ? 'extension_conflict' : 'insecure_options',
      problems,
    );
  }
  return complete(input as IdentityProviderOptions, production);
}

function complete(options: IdentityProviderOptions, production: boolean): ResolvedOptions {
  const { pathname, protocol } = new URL(options.issuer);
  const { signing, encryption, rotation } = options.keys ?? {};
  const lifetimes = { ...defaults.lifetimes, ...present(options.lifetimes) };
  const features = settableFeatures(options.features);
  return Object.freeze({
    ...defaults,
    ...present(options),
    issuer: options.issuer,
    keys: Object.freeze({
      ...(signing && { signing: Object.freeze(signing.map(completeKey)) }),
      rotation: Object.freeze({ ...defaults.keys.rotation, ...present(rotation) }),
      ...(encryption && { encryption: frozenCopy(encryption) }),
    }),
    cookies: Object.freeze({
      prefix: options.cookies?.prefix ?? defaults.cookies.prefix,
      ...(options.cookies?.keys && { keys: frozenCopy(options.cookies.keys) }),
    }),
    trustProxy: typeof options.trustProxy === 'function' ? options.trustProxy : Number(options.trustProxy ?? false),
    paths: Object.freeze({ ...defaults.paths, ...present(options.paths) }),
    claims: frozenCopy(options.claims ?? defaults.claims),
    claimMapping: Object.freeze({ ...options.claimMapping }),
    extensions: frozenCopy(options.extensions ?? defaults.extensions),
    lifetimes: Object.freeze({
      ...lifetimes,
      refreshTokenIdle: Math.min(lifetimes.refreshTokenIdle, lifetimes.refreshTokenAbsolute),
      sessionIdle: Math.min(lifetimes.sessionIdle, lifetimes.sessionAbsolute),
    }),
    ...(options.impersonation ? { impersonation: Object.freeze({ ...options.impersonation }) } : {}),
    ciba: Object.freeze({ ...defaults.ciba, ...present(options.ciba) }),
    limits: Object.freeze({ ...defaults.limits, ...present(options.limits) }),
    outgoing: Object.freeze({ allowHosts: frozenCopy(options.outgoing?.allowHosts ?? defaults.outgoing.allowHosts) }),
    passwords: Object.freeze({ ...defaults.passwords, ...present(options.passwords) }),
    features: Object.freeze(features),
    ...(options.configure ? { configure: withRefusals(options.configure) } : {}),
    branding: Object.freeze({ ...defaults.branding, ...present(options.branding) }),
    locales: frozenCopy(options.locales ?? defaults.locales),
    isAnsweredHere: !options.configure && !options.onProvider && !isHandedOver(features),
    production,
    secure: protocol === 'https:',
    mountPath: pathname === '/' ? '' : pathname,
  });
}

/** One problem for each place, the first that was found; without a place to tell them apart by, all. */
const onceEach = (problems: readonly ConfigProblem[]): readonly ConfigProblem[] =>
  [
    ...new Map(problems.toReversed().map((problem) => [problem.path === 'extensions' ? problem : problem.path, problem])).values(),
  ].toReversed();

const frozenCopy = <T>(items: readonly T[]): readonly T[] => Object.freeze([...items]);

/** What was given; a member given as undefined was not. */
const present = <T extends object>(given: T | undefined): Partial<T> =>
  Object.fromEntries(Object.entries(given ?? {}).filter(([, value]) => value !== undefined)) as Partial<T>;

const completeKey = (jwk: JWK): JWK => Object.freeze({ ...jwk, alg: signingAlgorithm(jwk), use: 'sig' });
