/**
 * Tells a client in ping mode that its request was approved or denied. The client then asks the token endpoint for what became of it.
 * @see CIBA Core §10.2, threat D8
 */
import type { DeliveryHandler, ExtensionContext } from '../../../lib/extension-door.js';
import type { Requests } from '../requests/requests.js';

const TIMEOUT_MS = 5_000;

/** Whether an answer stays the same however often the ping is sent. A redirect is an answer of the client, and is not followed. */
const isFinal = (status: number): boolean => (status >= 300 && status < 400) || status === 401 || status === 403;

/** @throws Error where the client did not take it: another attempt follows. */
export const createPing =
  (
    { directory, http: { fetch }, service: { logger, now } }: ExtensionContext,
    requests: Pick<Requests, 'read' | 'notificationOf'>,
  ): DeliveryHandler =>
  async ({ data }) => {
    const id = String(data.id);
    const [request, notification] = await Promise.all([requests.read(id), requests.notificationOf(id)]);
    if (!request || !notification || request.expiresAt.getTime() <= now()) return;
    if (request.state === 'pending' || request.decidedAt === undefined) throw new Error('the decision is not written yet');
    const client = await directory.clients.get(request.clientId);
    const endpoint = client?.status === 'active' ? client.metadata.backchannel_client_notification_endpoint : undefined;
    if (typeof endpoint !== 'string' || !endpoint.startsWith('https://')) return;
    const { status } = await fetch(endpoint, {
      method: 'POST',
      headers: { authorization: `Bearer ${notification.token}`, 'content-type': 'application/json', 'user-agent': 'tenant-idp' },
      body: JSON.stringify({ auth_req_id: notification.authReqId }),
      timeoutMs: TIMEOUT_MS,
      // What it answers beside the status is nothing to us. @see CIBA Core §10.2
      maxBytes: 0,
    });
    if (status >= 200 && status < 300) return;
    if (!isFinal(status)) throw new Error(`the client answered ${status}`);
    logger.warn({ client: request.clientId, status }, 'a client refuses to be notified of its authentication request');
  };
