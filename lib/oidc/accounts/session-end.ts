import type { ResolvedOptions } from '../../options/defaults.js';

/**
 * Returns the instant at which a session ends at the latest, in seconds since the epoch. Uses of the session do not move it.
 * @param startedAt time of the sign-in that began the session, in seconds since the epoch
 * @param endsAt an earlier end, such as the end of an impersonation
 */
export const sessionEnd = (
  { sessionAbsolute }: Pick<ResolvedOptions['lifetimes'], 'sessionAbsolute'>,
  startedAt: number,
  endsAt = Number.POSITIVE_INFINITY,
): number => Math.min(startedAt + sessionAbsolute, endsAt);
