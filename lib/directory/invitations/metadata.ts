import type { EventMetadata } from '../../events.js';
import type { Invitation } from '../../store/records/records.js';
import type { DirectoryContext } from '../context.js';
import { attributedCollections } from '../outbox/attribution.js';

/** Returns the client of an invitation as events name the client; undefined without a client. */
export const metadataOf = ({ clientId, clientName }: Pick<Invitation, 'clientId' | 'clientName'>): EventMetadata | undefined =>
  clientId === undefined ? undefined : { ClientId: clientId, ClientName: clientName ?? clientId };

/**
 * Returns the context with events that name the client of the invitation, if the invitation has one.
 * @see service specification, Events 2
 */
export function onBehalf(context: DirectoryContext, invitation: Pick<Invitation, 'clientId' | 'clientName'>): DirectoryContext {
  const metadata = metadataOf(invitation);
  if (metadata === undefined) return context;
  return { ...context, collections: attributedCollections(context.collections, { metadata }) };
}
