/** Requests of service providers, stored until the user has signed in. */
import type { ArtifactKind, ExtensionContext } from '../../../lib/extension-door.js';
import { storeUnderHandle } from '../handles.js';
import type { NameId } from '../messages/inbound.js';
import type { NameIdFormat } from '../service-providers/records.js';
import type { UnderstoodContext } from './authn-context.js';

export interface PendingRequest {
  /** Id of the service provider. */
  readonly serviceProvider: string;
  /** ID of the AuthnRequest; absent for a sign-in that began here. */
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

/** Stored requests, by a handle that the browser never gets. */
export const pendingRequests: ArtifactKind = { name: 'saml.requests', lifetimeSeconds: 3600, once: true };

/** Stores a request and returns its handle. @throws RefusedMessage `too_much_to_keep` */
export const storePendingRequest = ({ records }: Pick<ExtensionContext, 'records'>, request: PendingRequest): Promise<string> =>
  storeUnderHandle(records, pendingRequests, request);

/** Returns a stored request once. Undefined if the request was used before, or has expired. */
export const takePendingRequest = async (
  { records: { artifact } }: Pick<ExtensionContext, 'records'>,
  handle: string,
): Promise<PendingRequest | undefined> => (await artifact(pendingRequests).take(handle)) as PendingRequest | undefined;
