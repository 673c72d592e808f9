import type { ResolvedOptions } from './options/defaults.js';

type Paths = Pick<ResolvedOptions, 'paths'>;

/** Returns the path of the pages of all sign-ins, below the issuer. */
export const interactionsPath = ({ paths }: Paths): string => `${paths.own}/interaction`;

/** Returns the path of the pages of one sign-in. */
export const interactionPath = (options: Paths, uid: string): string => `${interactionsPath(options)}/${uid}`;

/** Form of an id that oidc-provider's nanoid creates. No other part of a path is used. */
const uidPattern = /^[\w-]{43}$/;

export const isInteractionUid = (uid: unknown): uid is string => typeof uid === 'string' && uidPattern.test(uid);

/** Returns a path as oidc-provider's router compares it: in lower case, without one trailing slash. */
export function foldedPath(path: string): string {
  const folded = path.toLowerCase();
  return folded.endsWith('/') ? folded.slice(0, -1) : folded;
}
