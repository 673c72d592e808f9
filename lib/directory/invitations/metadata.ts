import type { Invitation } from '../../store/records/records.js';
import type { DirectoryContext } from '../context.js';
import { attributedCollections } from '../outbox/attribution.js';

/** The directory, whose events name the client of the invitation exactly when it carries one. @see service specification, Events 2 */
export function onBehalf(
  context: DirectoryContext,
  { clientId, clientName }: Pick<Invitation, 'clientId' | 'clientName'>,
): DirectoryContext {
  if (clientId === undefined) return context;
  const metadata = { ClientId: clientId, ClientName: clientName ?? clientId };
  return { ...context, collections: attributedCollections(context.collections, { metadata }) };
}
