/** A request of a service provider that waits until somebody is signed in. */
import { randomBytes } from 'node:crypto';
import { type ArtifactKind, type ExtensionContext, mayBeKept } from '../../../lib/extension-door.js';
import type { NameId } from '../messages/inbound.js';
import { RefusedMessage } from '../messages/refused.js';
import type { NameIdFormat } from '../service-providers/records.js';
import type { UnderstoodContext } from './authn-context.js';

export interface PendingRequest {
  /** The id of the service provider. */
  readonly serviceProvider: string;
  /** Of the message; absent where the sign-in began here. */
  readonly id?: string;
  readonly acsUrl: string;
  readonly relayState?: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  readonly forceAuthn: boolean;
  readonly isPassive: boolean;
  readonly nameIdFormat: NameIdFormat;
  readonly wantedContext?: UnderstoodContext;
  readonly subject?: NameId;
}

/** By handles that the browser never sees. */
export const pendingRequests: ArtifactKind = { name: 'saml.requests', lifetimeSeconds: 3600, once: true };

/** @throws RefusedMessage `too_much_to_keep` */
export async function storePendingRequest(
  { records: { artifact } }: Pick<ExtensionContext, 'records'>,
  request: PendingRequest,
): Promise<string> {
  if (!mayBeKept(request, 'longer')) throw new RefusedMessage('too_much_to_keep');
  const handle = randomBytes(24).toString('base64url');
  await artifact(pendingRequests).put(handle, request);
  return handle;
}

/** Undefined for one that was taken, or waited too long. */
export const takePendingRequest = async (
  { records: { artifact } }: Pick<ExtensionContext, 'records'>,
  handle: string,
): Promise<PendingRequest | undefined> => (await artifact(pendingRequests).take(handle)) as PendingRequest | undefined;
