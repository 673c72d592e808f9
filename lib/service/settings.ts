/** Settings of a service: its options, checked and completed, its extensions, and its claims. */
import { randomBytes } from 'node:crypto';
import { standardClaims, standardExtensions } from '../../extensions/index.js';
import type { ClaimSet } from '../claims/contract.js';
import { type ClaimResolver, createClaimResolver } from '../claims/resolver.js';
import type { Extension } from '../contract/extension.js';
import type { AttributeRules } from '../directory/index.js';
import { createFetchProblem, type FetchProblem } from '../fetch/fetch-rules.js';
import { type Logger, withBareErrors } from '../logger.js';
import { readAttributes } from '../options/attribute-schema.js';
import { defaults, type ResolvedOptions } from '../options/defaults.js';
import { developmentNotice } from '../options/insecure.js';
import type { IdentityProviderOptions } from '../options/options.js';
import { resolveOptions } from '../options/resolve.js';
import { type Additions, createAdditions } from './additions.js';
import { findProblems } from './configuration-problems.js';

export interface Settings {
  readonly options: ResolvedOptions;
  readonly logger: Logger;
  /** Standard extensions, followed by the extensions of the options. */
  readonly extensions: readonly Extension[];
  readonly additions: Additions;
  readonly claimSets: readonly ClaimSet[];
  readonly claims: ClaimResolver;
  readonly fetchProblem: FetchProblem;
  /** The schema of the attributes of persons. */
  readonly attributes: AttributeRules | undefined;
}

/** @throws ConfigError with all problems of the options. */
export async function readSettings(input: IdentityProviderOptions): Promise<Settings> {
  const standard = standardExtensions();
  const attributes = await readAttributes(input);
  const found = await findProblems(input, { extensions: standard, claims: standardClaims(defaults) }, attributes.rules);
  const given = resolveOptions(input, process.env, { ...found, invalid: [...attributes.problems, ...(found.invalid ?? [])] });
  const isSaltMade = given.subjectSalt === undefined && !given.production;
  const options = isSaltMade ? { ...given, subjectSalt: throwawaySecret() } : given;
  const logger = withBareErrors(options.logger);
  logNotices(given, options, logger);
  const extensions = allExtensions(options.extensions, standard);
  const claimSets = [...standardClaims(options), ...extensions.flatMap((extension) => extension.claims ?? []), ...options.claims];
  return {
    options,
    logger,
    extensions,
    additions: createAdditions(extensions),
    claimSets,
    claims: createClaimResolver(claimSets, { logger, mapping: options.claimMapping }),
    fetchProblem: createFetchProblem({ ...options.outgoing, production: options.production }),
    attributes: attributes.rules,
  };
}

/** Returns the extensions of a service with these extensions of its options. */
export const allExtensions = (extensions: readonly Extension[], standard = standardExtensions()): readonly Extension[] => [
  ...standard,
  ...extensions,
];

/** Returns a secret that lasts until the service stops. */
export const throwawaySecret = (): string => randomBytes(32).toString('base64url');

function logNotices(given: ResolvedOptions, { issuer, subjectSalt }: ResolvedOptions, logger: Logger): void {
  const notice = developmentNotice(given);
  if (notice) logger.warn({ issuer }, notice);
  if (subjectSalt !== undefined) return;
  logger.info(
    { issuer },
    'Discovery does not list the subject type pairwise, because the option subjectSalt is missing. Sign-ins to pairwise clients are refused. Set subjectSalt to a secret of at least 16 characters to have pairwise clients.',
  );
}
