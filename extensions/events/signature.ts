/** Signatures of deliveries. @see Standard Webhooks 1.0, signature scheme v1 */
import { createHmac, createSecretKey, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';

/** Returns a secret of 256 bits, in the format of Standard Webhooks. */
export const newWebhookSecret = (): string => PREFIX + randomBytes(32).toString('base64');

/** Returns the headers of an attempt, with a signature for each secret. One valid signature is enough for the receiver, so that secrets can be rotated. */
export function signedHeaders(id: string, sentAt: Date, body: string, secrets: readonly string[]): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(sentAt.getTime() / 1000));
  const signatures = secrets.map((secret) => {
    const key = createSecretKey(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
