/** Each message is taken once, by whichever node it comes to: the ID that a service provider gave it is written where there is none yet. */
import type { ArtifactKind, ExtensionContext } from '../../../lib/extension-door.js';
import { acceptanceSeconds, MAX_CLOCK_SKEW_SECONDS, secondsLeft } from './times.js';

export const seenMessages: ArtifactKind = { name: 'saml.seen', lifetimeSeconds: acceptanceSeconds(MAX_CLOCK_SKEW_SECONDS) };

/** Whether a message comes for the first time. It is remembered until its age refuses it, and no longer. */
export type IsFirst = (serviceProviderId: string, message: { readonly id: string; readonly issuedAt: number }) => Promise<boolean>;

export const createReplayMemory = (
  { records: { artifact }, service: { now } }: Pick<ExtensionContext, 'records' | 'service'>,
  clockSkewSeconds: number,
): IsFirst => {
  const memory = artifact(seenMessages);
  return (serviceProviderId, { id, issuedAt }) =>
    memory.put(JSON.stringify([serviceProviderId, id]), true, { lifetimeSeconds: secondsLeft(issuedAt, now(), clockSkewSeconds) });
};
