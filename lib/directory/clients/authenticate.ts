import type { ApiResource, Client } from '../../store/records/records.js';
import { isLiveSecret, isSecretOf } from '../credentials/secrets.js';
import type { ApiResources } from './api-resources.js';
import { authMethod } from './client-metadata.js';
import { type Clients, usesSecret } from './clients.js';

/** Returns the active client or API resource with this id, if it authenticates with a secret and the secret is valid. */
export type Authenticate = (id: string, secret: string) => Promise<Client | ApiResource | undefined>;

export const createAuthenticate =
  (clients: Clients, apiResources: ApiResources, now: () => number): Authenticate =>
  async (id, secret) => {
    const client = clients.peek(id) ?? (await clients.get(id));
    const caller = client ?? (await apiResources.get(id));
    const mayTry = caller?.status === 'active' && (client === undefined || usesSecret(client.metadata));
    // Compares the secret in every case, because the time must not show which part is wrong.
    return isLiveSecret(caller?.secrets ?? [], secret, now()) && mayTry ? caller : undefined;
  };

/**
 * Returns why a client or an API resource did not authenticate; undefined without a record of this id. The text is for the log, because the
 * answer must not show which part is wrong. `authenticate` filled the caches, so the store is not read again.
 * @param secret absent if the request had none
 */
export async function explainRefusal(
  { clients, apiResources }: { readonly clients: Pick<Clients, 'get'>; readonly apiResources: Pick<ApiResources, 'get'> },
  id: string,
  secret: string | undefined,
): Promise<string | undefined> {
  const client = await clients.get(id);
  const record = client ?? (await apiResources.get(id));
  if (record === undefined) return undefined;
  const kind = client ? 'client' : 'API resource';
  if (record.status !== 'active') return `the ${kind} is disabled`;
  if (client && !usesSecret(client.metadata)) return `the client authenticates by ${authMethod(client.metadata)}, not by a secret`;
  if (record.secrets.length === 0) return `the ${kind} has no secret`;
  if (secret === undefined) return 'no secret was sent';
  return isSecretOf(record.secrets, secret) ? 'the secret has expired' : 'the secret is wrong';
}
