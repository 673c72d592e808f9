/** States of an invitation. The user's document decides the state; the invitation's own row follows. */
import type { User } from '../../store/records/records.js';

/**
 * `replaced`: a newer invitation link replaced this one. `pending`: the invitation link makes the user active, unless something else prevents the
 * acceptance.
 */
export type StateOfInvitation = 'pending' | 'accepted' | 'revoked' | 'replaced' | 'expired';

/** @param now milliseconds since the epoch, by the time that all nodes share */
export const isExpired = ({ expiresAt }: { readonly expiresAt: Date }, now: number): boolean => expiresAt.getTime() <= now;

/**
 * Returns the state of an invitation as the user has it.
 * @param serial of an invitation link. Undefined: the newest
 * @param now milliseconds since the epoch, by the time that all nodes share
 */
export function invitationState(
  user: User | undefined,
  { id, serial }: { readonly id: string; readonly serial?: number },
  now: number,
): StateOfInvitation {
  if (user?.accepted?.id === id) return 'accepted';
  const { invitation } = user ?? {};
  if (user?.status !== 'invited' || invitation?.id !== id) return 'revoked';
  if (serial !== undefined && invitation.serial !== serial) return 'replaced';
  return isExpired(invitation, now) ? 'expired' : 'pending';
}
