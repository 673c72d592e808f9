import type { ApiResource, Client } from '../../store/records/records.js';
import { isLiveSecret } from '../credentials/secrets.js';
import type { ApiResources } from './api-resources.js';
import { type Clients, usesSecret } from './clients.js';

/** The active client or API resource with this id, if it authenticates with a secret and this secret is live. */
export type Authenticate = (id: string, secret: string) => Promise<Client | ApiResource | undefined>;

export const createAuthenticate =
  (clients: Clients, apiResources: ApiResources, now: () => number): Authenticate =>
  async (id, secret) => {
    const client = clients.peek(id) ?? (await clients.get(id));
    const caller = client ?? (await apiResources.get(id));
    const mayTry = caller?.status === 'active' && (client === undefined || usesSecret(client.metadata));
    // The secret is always compared, because the time must not tell which part is wrong.
    return isLiveSecret(caller?.secrets ?? [], secret, now()) && mayTry ? caller : undefined;
  };
