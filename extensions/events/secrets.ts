import type { ExtensionContext } from '../../lib/extension-door.js';
import type { WebhookRow } from './records.js';
import { newWebhookSecret } from './signature.js';

/** Secrets of webhooks, which are stored encrypted. */
export interface Secrets {
  make(webhookId: string, secret?: string): { readonly secret: string; readonly sealed: string };
  /** Returns the valid secrets, the newest first. @throws IdpError `undecipherable` */
  open(webhook: Pick<WebhookRow, 'id' | 'secrets'>): readonly string[];
}

export function createSecrets(context: Pick<ExtensionContext, 'keys'>): Secrets {
  const seal = context.keys.seal('events webhook secret');
  return {
    make(webhookId, secret = newWebhookSecret()) {
      return { secret, sealed: seal.seal(webhookId, secret) };
    },
    open: ({ id, secrets }) => secrets.map((sealed) => seal.open(id, sealed)),
  };
}
