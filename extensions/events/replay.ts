import type { DeliveryHandler, ExtensionContext } from '../../lib/extension-door.js';
import type { Attempt } from './attempt.js';
import { deadLetters, webhooks } from './records.js';

/** The kind of delivery that sends a dead letter again. */
export const REPLAY = 'events.replay';

/** Sends a dead letter again. The letter is listed until the receiver accepts it, and the delivery is retried like any other delivery. */
export const createReplay =
  (context: ExtensionContext, attempt: Attempt): DeliveryHandler =>
  async ({ data }) => {
    const { tid, id } = data as { readonly tid: string; readonly id: string };
    const letters = context.records.collection(deadLetters, tid);
    const letter = await letters.get(id);
    const webhook = letter && (await context.records.collection(webhooks, tid).get(letter.webhookId));
    // The letter was replayed before, or removed with its webhook.
    if (!letter || !webhook) return;
    const { isTaken, problem } = await attempt(webhook, letter.event as { readonly id: string });
    if (!isTaken) throw new Error(problem);
    await letters.remove(id);
  };
