import type { Account, Enqueued } from '../../directory/index.js';
import type { Attribution, EventMap, EventName } from '../../events.js';
import type { Mail } from '../pages/letter.js';

/** The group `work` of the context: deliveries, events and mails, which outlive the request. */
export interface ExtensionWork {
  /**
   * Enqueues a delivery: durable, at least once, from whichever node is there. The queue holds it for two seconds, so that it can be enqueued before the change
   * that it announces. `release()` sends it immediately. The queue is not encrypted: put ids in it, and no secrets.
   * @throws TypeError for a kind that no extension takes.
   */
  deliver(kind: string, data: Readonly<Record<string, unknown>>, options?: { readonly batch?: string }): Promise<Enqueued>;
  /**
   * Raises an event that an extension declares, about an account. The person's document keeps the event until it is dispatched.
   * @param cause names what happened, so that a retry on any node raises no second event. Leave it out where nothing is retried: that saves a look-up.
   * @param by the user or client that caused it.
   * @throws TypeError for a type that no extension declares.
   */
  emit<Name extends EventName>(type: Name, account: Account, data: EventMap[Name], cause?: string, by?: Attribution): Promise<void>;
  /** Types of the events that this service raises, with those of its extensions. */
  readonly eventTypes: readonly EventName[];
  /** The host's mail; undefined without the option `mail`. */
  readonly mail?: Mail;
}
