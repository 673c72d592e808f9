/** What is kept of webhooks: the subscriptions, how far each came in the feed, and what could not be delivered. */
import {
  defineCollection,
  type EventName,
  type ExtensionRow,
  type IdpEvent,
  oneOf,
  type Static,
  strict,
  Type,
} from '../../lib/extension-door.js';

const instant = () => Type.String();
const sequence = () => Type.String({ pattern: '^\\d{16}$' });

const Webhook = Type.Object(
  {
    url: Type.String(),
    description: Type.Optional(Type.String()),
    /** Absent: all. */
    types: Type.Optional(Type.Array(Type.String())),
    status: oneOf(['active', 'disabled']),
    /** Why the service switched it off. */
    reason: Type.Optional(oneOf(['failing', 'gone'])),
    /** The newest first, encrypted. */
    secrets: Type.Array(Type.String()),
    /** Where in the feed it began. */
    from: sequence(),
    createdAt: instant(),
    updatedAt: instant(),
  },
  strict,
);
export type WebhookRow = ExtensionRow<Static<typeof Webhook>>;
export type WebhookFields = Static<typeof Webhook>;

/** Where a webhook is in the feed; its id is the webhook's. Apart from the webhook, so that deliveries do not get in the way of who changes that. */
const Position = Type.Object(
  {
    /** The last event that was delivered, or passed over. */
    after: sequence(),
    /** Attempts to deliver the next one. */
    attempts: Type.Integer(),
    nextAttemptAt: Type.Optional(instant()),
    /** When attempts began to fail; absent while they succeed. */
    failingSince: Type.Optional(instant()),
    problem: Type.Optional(Type.String()),
    /** The version of the webhook that the last attempt failed for: one that was changed since has failed at nothing yet. */
    failedVersion: Type.Optional(Type.Integer()),
  },
  strict,
);
export type PositionRow = ExtensionRow<Static<typeof Position>>;
export type PositionFields = Static<typeof Position>;

/** What people typed: erasure takes it out of the feed, and does not find it elsewhere. */
const freeText: Partial<Record<EventName, readonly string[]>> = { ImpersonationStarted: ['Reason'], ImpersonationEnded: ['Reason'] };

/** An event as it may be kept beside the feed. */
export function withoutFreeText(event: IdpEvent): Record<string, unknown> {
  const left = freeText[event.type];
  return left ? { ...event, data: Object.fromEntries(Object.entries(event.data).filter(([name]) => !left.includes(name))) } : { ...event };
}

/** An event that was given up for one webhook. */
const DeadLetter = Type.Object(
  {
    webhookId: Type.String(),
    event: Type.Record(Type.String(), Type.Unknown()),
    attempts: Type.Integer(),
    problem: Type.String(),
    at: instant(),
  },
  strict,
);

export const webhooks = defineCollection({ name: 'events.webhooks', row: Webhook, events: true });
export const positions = defineCollection({ name: 'events.positions', row: Position });
export const deadLetters = defineCollection({
  name: 'events.dead-letters',
  row: DeadLetter,
  indexes: { byWebhook: { fields: ['webhookId'] } },
});
