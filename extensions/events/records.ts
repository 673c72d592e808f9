/** Stored rows of webhooks: the webhooks, their positions in the feed, and events that could not be delivered. */
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
    /** Types of the events that the webhook gets. Absent for all types. */
    types: Type.Optional(Type.Array(Type.String())),
    status: oneOf(['active', 'disabled']),
    /** The reason why the service disabled the webhook. */
    reason: Type.Optional(oneOf(['failing', 'gone'])),
    /** Encrypted secrets, the newest first. */
    secrets: Type.Array(Type.String()),
    /** The position in the feed at which the webhook began. */
    from: sequence(),
    createdAt: instant(),
    updatedAt: instant(),
  },
  strict,
);
export type WebhookRow = ExtensionRow<Static<typeof Webhook>>;
export type WebhookFields = Static<typeof Webhook>;

/**
 * The position of a webhook in the feed. The id of the position is the id of the webhook. A position has a separate row, so that deliveries do not conflict
 * with changes of the webhook.
 */
const Position = Type.Object(
  {
    /** The last event that was delivered or skipped. */
    after: sequence(),
    /** Failed attempts to deliver the next event. */
    attempts: Type.Integer(),
    nextAttemptAt: Type.Optional(instant()),
    /** When attempts began to fail; absent while attempts succeed. */
    failingSince: Type.Optional(instant()),
    problem: Type.Optional(Type.String()),
    /** The version of the webhook for which the last attempt failed. Failures do not count for a later version. */
    failedVersion: Type.Optional(Type.Integer()),
  },
  strict,
);
export type PositionRow = ExtensionRow<Static<typeof Position>>;
export type PositionFields = Static<typeof Position>;

/** Members of events that users typed. Erasure of a person removes them from the feed, but not from copies elsewhere. */
const freeText: Partial<Record<EventName, readonly string[]>> = { ImpersonationStarted: ['Reason'], ImpersonationEnded: ['Reason'] };

/** Returns an event without texts that users typed, as it may be stored outside the feed. */
export function withoutFreeText(event: IdpEvent): Record<string, unknown> {
  const left = freeText[event.type];
  return left ? { ...event, data: Object.fromEntries(Object.entries(event.data).filter(([name]) => !left.includes(name))) } : { ...event };
}

/** An event that could not be delivered to a webhook. */
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
