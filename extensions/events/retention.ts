/** Removal of old events: from the feed, and from the dead letters of webhooks. */
import { type ExtensionContext, IdpError, present } from '../../lib/extension-door.js';
import { deadLetters } from './records.js';

const PAGE = 100;

/** Removes old events. @param keepAfter events after this cursor stay, because a webhook has not got them yet */
export async function removeOld(context: ExtensionContext, signal: AbortSignal, keepAfter: string | undefined): Promise<void> {
  const { eventFeed } = context.directory;
  await eventFeed.prune({ signal, keepAfter });
  const [oldest] = (await eventFeed.read({ limit: 1 })).events;
  if (oldest) await removeLettersBefore(context, signal, oldest.sequence);
}

/** Removes dead letters whose events have left the feed, because these events are not sent again. */
async function removeLettersBefore(context: ExtensionContext, signal: AbortSignal, sequence: string): Promise<void> {
  for (let after: string | undefined; !signal.aborted; ) {
    const page = await context.records.collectionOfAllTenants(deadLetters).list({ limit: PAGE, ...present({ after }) });
    for (const { id, tid, event } of page)
      if (String(event.sequence) < sequence)
        await context.records.collection(deadLetters, tid).remove(id).catch(IdpError.unless('not_found'));
    after = page.at(-1)?.id;
    if (page.length < PAGE) return;
  }
}
