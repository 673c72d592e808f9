import type { ResolvedOptions } from './options/defaults.js';

type Paths = Pick<ResolvedOptions, 'paths'>;

/** Where the pages of sign-ins are, below the issuer. */
export const interactionsPath = ({ paths }: Paths): string => `${paths.own}/interaction`;

/** Those of one sign-in. */
export const interactionPath = (options: Paths, uid: string): string => `${interactionsPath(options)}/${uid}`;

/** What oidc-provider's nanoid makes; nothing else of a path is used. */
const uidPattern = /^[\w-]{43}$/;

export const isInteractionUid = (uid: unknown): uid is string => typeof uid === 'string' && uidPattern.test(uid);

/** A path as oidc-provider's router compares it: it folds case and takes one trailing slash. */
export function foldedPath(path: string): string {
  const folded = path.toLowerCase();
  return folded.endsWith('/') ? folded.slice(0, -1) : folded;
}
