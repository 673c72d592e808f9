/**
 * Events for other systems: the pull feed, which has all events in one order, and webhooks, each with a position in the feed.
 *
 * `feed` and `webhooks` have the operations of the admin API, and `records` the stored rows. `sender` delivers events through `attempt`, with the headers of
 * `signature`. Two jobs run here, each under a lease: the sender, and the removal of old events.
 */
import { type Extension, perContext } from '../../lib/extension-door.js';
import { createAttempt } from './attempt.js';
import { feed } from './feed.js';
import { deadLetters, positions, webhooks } from './records.js';
import { createReplay, REPLAY } from './replay.js';
import { removeOld } from './retention.js';
import { createSecrets } from './secrets.js';
import { CONCURRENCY, createSender } from './sender.js';
import { webhookOperations } from './webhooks.js';

export const events = (): Extension => {
  const partsOf = perContext((context) => {
    const secrets = createSecrets(context);
    const attempt = createAttempt(context, secrets.open);
    return { secrets, attempt, sender: createSender(context, attempt) };
  });
  return {
    name: 'events',
    collections: [webhooks, positions, deadLetters],
    events: ['WebhookCreated', 'WebhookUpdated', 'WebhookRemoved', 'WebhookSecretAdded', 'WebhookDisabled'],
    resources(context) {
      const { secrets, attempt } = partsOf(context);
      return [...feed, ...webhookOperations(context, secrets, attempt)];
    },
    deliveries: (context) => ({ [REPLAY]: createReplay(context, partsOf(context).attempt) }),
    jobs: (context) => [
      { name: 'events.send', intervalSeconds: 1, atOnce: CONCURRENCY, run: (round) => partsOf(context).sender.round(round) },
      {
        name: 'events.retention',
        intervalSeconds: 600,
        run: async ({ signal }) => removeOld(context, signal, await partsOf(context).sender.oldestPosition()),
      },
    ],
  };
};
