import type { DeliveryHandler, ExtensionContext } from '../../lib/extension-door.js';
import type { Attempt } from './attempt.js';
import { deadLetters, webhooks } from './records.js';

/** The kind of delivery that sends a dead letter once more. */
export const REPLAY = 'events.replay';

/** Sends a dead letter once more; it is gone when the receiver takes it. Until then it stays listed, and is tried as every delivery is. */
export const createReplay =
  (context: ExtensionContext, attempt: Attempt): DeliveryHandler =>
  async ({ data }) => {
    const { tid, id } = data as { readonly tid: string; readonly id: string };
    const letters = context.records.collection(deadLetters, tid);
    const letter = await letters.get(id);
    const webhook = letter && (await context.records.collection(webhooks, tid).get(letter.webhookId));
    // Replayed before, or removed with its webhook.
    if (!letter || !webhook) return;
    const { isTaken, problem } = await attempt(webhook, letter.event as { readonly id: string });
    if (!isTaken) throw new Error(problem);
    await letters.remove(id);
  };
