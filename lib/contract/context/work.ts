import type { Account, Enqueued } from '../../directory/index.js';
import type { Attribution, EventMap, EventName } from '../../events.js';
import type { Mail } from '../pages/letter.js';

/** The group `work` of the context: deliveries, events and mails, which outlive the request. */
export interface ExtensionWork {
  /**
   * Enqueues a delivery: durable, at least once, from any node. The queue holds a delivery for two seconds, so that it can be enqueued before the change
   * that it announces. `release()` sends the delivery immediately. The queue is not encrypted, so put ids in the delivery, and no secrets.
   * @throws TypeError for a kind that no extension handles.
   */
  deliver(kind: string, data: Readonly<Record<string, unknown>>, options?: { readonly batch?: string }): Promise<Enqueued>;
  /**
   * Raises an event about an account, of a type that an extension declares. The event is stored by one write, and changes no record. Events that are raised
   * here stay in their order for each account. Raise the event of a change with the change of its row.
   * @param cause name of what happened, so that a retry on any node raises no second event. Leave `cause` out if nothing is retried, because a look-up is
   * then saved.
   * @param by the user or client that caused the event.
   * @throws TypeError for a type that no extension declares.
   */
  emit<Name extends EventName>(type: Name, account: Account, data: EventMap[Name], cause?: string, by?: Attribution): Promise<void>;
  /** Types of all events of this service, including the events of extensions. */
  readonly eventTypes: readonly EventName[];
  /** The host's mail; undefined without the option `mail`. */
  readonly mail?: Mail;
}
