/** Replay protection: each message is accepted once by all nodes. An accepted ID is stored, and a stored ID is refused. */
import type { ArtifactKind, ExtensionContext } from '../../../lib/extension-door.js';
import { acceptanceSeconds, MAX_CLOCK_SKEW_SECONDS, secondsLeft } from './times.js';

export const seenMessages: ArtifactKind = { name: 'saml.seen', lifetimeSeconds: acceptanceSeconds(MAX_CLOCK_SKEW_SECONDS) };

/** Returns whether a message is not a replay. The ID of the message is stored until the message is refused because of its age. */
export type IsFirst = (serviceProviderId: string, message: { readonly id: string; readonly issuedAt: number }) => Promise<boolean>;

export const createReplayMemory = (
  { records: { artifact }, service: { now } }: Pick<ExtensionContext, 'records' | 'service'>,
  clockSkewSeconds: number,
): IsFirst => {
  const memory = artifact(seenMessages);
  return (serviceProviderId, { id, issuedAt }) =>
    memory.put(JSON.stringify([serviceProviderId, id]), true, { lifetimeSeconds: secondsLeft(issuedAt, now(), clockSkewSeconds) });
};
