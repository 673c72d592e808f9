/**
 * Events for other systems: the pull feed, which has all events in one order, and webhooks, each with a position in the feed.
 *
 * `feed` and `webhooks` have the operations of the admin API, and `records` the stored rows. `sender` delivers events through `attempt`, with the headers of
 * `signature`. Two jobs run here, each under a lease: the sender, and the removal of old events.
 */
import type { Extension, ExtensionContext } from '../../lib/extension-door.js';
import { createAttempt } from './attempt.js';
import { feed } from './feed.js';
import { deadLetters, positions, webhooks } from './records.js';
import { createReplay, REPLAY } from './replay.js';
import { removeOld } from './retention.js';
import { createSecrets } from './secrets.js';
import { CONCURRENCY, createSender, type Sender } from './sender.js';
import { webhookOperations } from './webhooks.js';

const parts = (context: ExtensionContext) => {
  const secrets = createSecrets(context);
  return { secrets, attempt: createAttempt(context, secrets.open) };
};

export const events = (): Extension => {
  let sender: Sender | undefined;
  const senderOf = (context: ExtensionContext): Sender => {
    sender ??= createSender(context, parts(context).attempt);
    return sender;
  };
  return {
    name: 'events',
    collections: [webhooks, positions, deadLetters],
    events: ['WebhookCreated', 'WebhookUpdated', 'WebhookRemoved', 'WebhookSecretAdded', 'WebhookDisabled'],
    resources(context) {
      const { secrets, attempt } = parts(context);
      return [...feed, ...webhookOperations(context, secrets, attempt)];
    },
    deliveries: (context) => ({ [REPLAY]: createReplay(context, parts(context).attempt) }),
    jobs: (context) => [
      { name: 'events.send', intervalSeconds: 1, atOnce: CONCURRENCY, run: (round) => senderOf(context).round(round) },
      {
        name: 'events.retention',
        intervalSeconds: 600,
        run: async ({ signal }) => removeOld(context, signal, await senderOf(context).oldestPosition()),
      },
    ],
  };
};
