/**
 * Notifications of clients in ping mode: a request was approved or denied. The client then asks the token endpoint for the outcome.
 * @see CIBA Core §10.2, threat D8
 */
import type { DeliveryHandler, ExtensionContext } from '../../../lib/extension-door.js';
import type { Requests } from '../requests/requests.js';

const TIMEOUT_MS = 5_000;

/** Returns whether a retry would get the same answer. A redirect counts as an answer, and is not followed. */
const isFinal = (status: number): boolean => (status >= 300 && status < 400) || status === 401 || status === 403;

/** Notifies the client. @throws Error if the client did not accept the notification, so that the delivery is retried */
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
      // The service ignores the body of the answer. @see CIBA Core §10.2
      maxBytes: 0,
    });
    if (status >= 200 && status < 300) return;
    if (!isFinal(status)) throw new Error(`the client answered ${status}`);
    logger.warn({ client: request.clientId, status }, 'a client rejected the notification of its authentication request');
  };
