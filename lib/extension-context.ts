/** What an extension may touch, put together from the parts of a running service. */
import type { ClaimResolver } from './claims/resolver.js';
import type { ExtensionContext } from './contract/extension.js';
import type { Directory } from './directory/index.js';
import { createBearer, type Guarded } from './http/bearer.js';
import { createCsrf } from './http/csrf.js';
import { requestIdOf } from './http/request-id.js';
import type { Logger } from './logger.js';
import { describeScopes } from './oidc/accounts/scopes.js';
import type { Browsers } from './oidc/context.js';
import type { Protocol } from './oidc/protocol.js';
import { browserStateCookie } from './oidc/sessions/browser-state.js';
import type { ResolvedOptions } from './options/defaults.js';
import { hashedKey } from './store/artifact-key.js';
import type { ArtifactStore } from './store/artifact-store.js';
import type { Keyring } from './store/keyring.js';

export interface ExtensionContextParts extends Pick<ExtensionContext, 'attempts' | 'countWrongSecret'> {
  readonly options: ResolvedOptions;
  readonly protocol: Protocol;
  readonly directory: Directory;
  readonly keyring: Keyring;
  readonly claims: ClaimResolver;
  readonly browsers: Browsers;
  readonly logger: Logger;
  /** Hears of each guard that an extension puts before a route. */
  readonly guard: (guarded: Guarded) => void;
}

export function createExtensionContext(parts: ExtensionContextParts): ExtensionContext {
  const { options, protocol, directory, keyring, claims, browsers, attempts, countWrongSecret, logger } = parts;
  const { issuer } = options;
  const [csrfKey] = keyring.derive('csrf');
  return {
    issuer,
    production: options.production,
    locales: options.locales,
    own: options.paths.own,
    url: (path) => issuer + path,
    directory,
    browserStateCookie: browserStateCookie(options),
    interactions: protocol.interactions,
    claims: protocol.claims,
    bearer: createBearer(protocol.readAccessToken, issuer, parts.guard),
    sign: protocol.sign,
    signingAlgorithms: algorithmsOf(options.keys),
    sessions: protocol.sessions,
    signedIn: protocol.signedIn,
    scopeDescriptions: () => describeScopes(directory, claims),
    csrf: createCsrf(csrfKey, new URL(issuer).origin, browsers.browserOf),
    attempts,
    countWrongSecret,
    limits: options.limits,
    logger,
    requestId: (ctx) => requestIdOf(ctx as never),
  };
}

/** Counters that all nodes share. */
export const createAttempts =
  (artifacts: Pick<ArtifactStore, 'hit'>): ExtensionContext['attempts'] =>
  async (counter, window, by) => {
    const { count, resetsAt } = await artifacts.hit(hashedKey('Attempts', counter), window, by);
    return { count, resetsAt: new Date(resetsAt) };
  };

/** Those of the keys that were given; we make one of each. */
const algorithmsOf = ({ signing }: ResolvedOptions['keys']): readonly string[] =>
  signing ? [...new Set(signing.map(({ kty }) => (kty === 'RSA' ? 'RS256' : 'ES256')))] : ['RS256', 'ES256'];
