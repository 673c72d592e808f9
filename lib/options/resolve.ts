/** Resolves the options of the host: checks them as a whole, fills in defaults, and freezes them. */
import type { JWK } from 'jose';
import type { FoundProblems } from '../config-problem.js';
import { ConfigError, type ConfigProblem } from '../errors.js';
import { present } from '../present.js';
import { findContradictions } from './contradictions.js';
import { completed } from './declare.js';
import type { ResolvedOptions } from './defaults.js';
import { isHandedOver, settableFeatures, withRefusals } from './features.js';
import { findInsecureOptions } from './insecure.js';
import { checkOptions, type IdentityProviderOptions, optionTable } from './options.js';
import { signingAlgorithm } from './values.js';

/**
 * Returns the resolved options.
 * @throws ConfigError with all problems. `invalid_options`: a value is invalid. `extension_conflict`: two parts claim the same name. `insecure_options`:
 * the options are valid, but not fit for production.
 */
export function resolveOptions(input: unknown, env: NodeJS.ProcessEnv = process.env, found: FoundProblems = {}): ResolvedOptions {
  const production = env.NODE_ENV === 'production';
  const { invalid: others = [], conflicts = [] } = found;
  const invalid = [...checkOptions(input, []), ...findContradictions(input), ...others];
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
  const { keys, trustProxy, claimMapping, lifetimes, configure, ...known } = completed(optionTable, options);
  const features = settableFeatures(options.features);
  return Object.freeze({
    ...known,
    // Passes the host's own object, because its `send` may use `this`.
    ...present({ mail: options.mail, configure: configure && withRefusals(configure) }),
    keys: keys.signing ? Object.freeze({ ...keys, signing: Object.freeze(keys.signing.map(completeKey)) }) : keys,
    trustProxy: typeof trustProxy === 'function' ? trustProxy : Number(trustProxy),
    claimMapping: Object.freeze({ ...claimMapping }),
    lifetimes: Object.freeze({
      ...lifetimes,
      refreshTokenIdle: Math.min(lifetimes.refreshTokenIdle, lifetimes.refreshTokenAbsolute),
      sessionIdle: Math.min(lifetimes.sessionIdle, lifetimes.sessionAbsolute),
    }),
    features: Object.freeze(features),
    isAnsweredHere: !configure && !options.onProvider && !isHandedOver(features),
    production,
    secure: protocol === 'https:',
    mountPath: pathname === '/' ? '' : pathname,
  });
}

/** Returns the first problem of each path. Problems without a path are all kept. */
const onceEach = (problems: readonly ConfigProblem[]): readonly ConfigProblem[] =>
  [
    ...new Map(problems.toReversed().map((problem) => [problem.path === 'extensions' ? problem : problem.path, problem])).values(),
  ].toReversed();

const completeKey = (jwk: JWK): JWK => Object.freeze({ ...jwk, alg: signingAlgorithm(jwk), use: 'sig' });
