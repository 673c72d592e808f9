import { type ExtensionContext, IdpError, type IdpEvent, present } from '../../lib/extension-door.js';
import type { Attempt } from './attempt.js';
import { deadLetters, type PositionFields, type PositionRow, positions, type WebhookRow, webhooks, withoutFreeText } from './records.js';

/**
 * Delivers events to webhooks: to each in the order of the feed, from its position on, at least once. One node does it, under the lease of the job that
 * calls {@link Sender.round}. A position moves by compare-and-swap, so that a node that was stopped cannot take it back.
 */
export interface Sender {
  /** Looks which webhooks have events to get, and begins to send. */
  round(signal: AbortSignal): Promise<void>;
  /** The oldest position of those that are to get more events; undefined without any. */
  oldestPosition(): Promise<string | undefined>;
  /** Waits for attempts under way. */
  close(): Promise<void>;
}

/** Seconds before the second attempt, the third …; after the last, the event is a dead letter. */
const BACK_OFF_SECONDS = [5, 30, 120, 600, 3_600, 21_600];
/** Milliseconds after which a receiver that takes nothing is switched off. */
const FAILING_MS = 5 * 86_400_000;
/** Events of a webhook's turn, at most. */
const MOST_AT_ONCE = 100;
/** Milliseconds of a webhook's turn, after which it begins no other event: others wait. */
const TURN_MS = 10_000;
/** Webhooks whose turn it is, at once. */
const CONCURRENCY = 16;
/** The same of one tenant, because its receivers may be as slow as they like. */
const CONCURRENCY_OF_TENANT = 4;
const PAGE = 100;
/** Milliseconds between two writes of a position that passed over events which nobody asked for. */
const PASSING_MS = 60_000;

/** A position without the failures of what the webhook was before somebody changed it. */
function asTried({ version }: WebhookRow, position: PositionRow): PositionRow {
  const { failedVersion = version, nextAttemptAt: _, failingSince: __, problem: ___, ...rest } = position;
  return failedVersion === version ? position : { ...rest, attempts: 0 };
}

const isWaiting = (webhook: WebhookRow, position: PositionRow, now: number): boolean => {
  const { nextAttemptAt } = asTried(webhook, position);
  return nextAttemptAt !== undefined && Date.parse(nextAttemptAt) > now;
};

export function createSender(context: ExtensionContext, attempt: Attempt): Sender {
  const {
    directory,
    service: { logger },
  } = context;
  const working = new Map<string, { readonly tid: string; readonly sending: Promise<void> }>();
  /** The last webhook that was begun with: the next round goes on after it, so that each has its turn. */
  let lastBegun: string | undefined;
  /** How far each webhook was read, and when its position was written: what nobody asked for need not be read twice. */
  const read = new Map<string, { readonly version: number; readonly upTo: string; readonly writtenAt: number }>();

  /** In the order of their ids, from after one of them on, to the end. */
  async function* active(from?: string): AsyncGenerator<WebhookRow> {
    for (let after = from; ; ) {
      const rows = await context.records.collectionOfAllTenants(webhooks).list({ limit: PAGE, ...present({ after }) });
      yield* rows.filter(({ status }) => status === 'active');
      after = rows.at(-1)?.id;
      if (rows.length < PAGE) return;
    }
  }

  async function positionOf({ id, tid, from }: WebhookRow): Promise<PositionRow> {
    const rows = context.records.collection(positions, tid);
    const row = await rows.get(id);
    if (row) return row;
    const made = await rows.insert({ after: from, attempts: 0 }, { id }).catch(IdpError.unless('conflict'));
    const known = made ?? (await rows.get(id));
    if (!known) throw new IdpError('not_found');
    return known;
  }

  /** Undefined when another node moved it meanwhile. */
  async function move({ id, tid }: WebhookRow, { version }: PositionRow, next: PositionFields): Promise<PositionRow | undefined> {
    let isOurs = false;
    const row = await context.records.collection(positions, tid).update(id, (current) => {
      isOurs = current.version === version;
      return isOurs ? next : current;
    });
    return isOurs ? row : undefined;
  }

  /** @returns the next event; or how far there is none. */
  async function nextOf({ id, tid, types, version }: WebhookRow, { after }: PositionRow): Promise<{ event?: IdpEvent; upTo: string }> {
    const known = read.get(id);
    const from = known?.version === version && known.upTo > after ? known.upTo : after;
    const query = { limit: 1, ...(tid === context.records.ofInstance ? {} : { tid }), ...(types ? { types } : {}) };
    const page = await directory.eventFeed.read({ ...query, after: from }).catch((error: unknown) => {
      if (!IdpError.is(error, 'cursor_expired')) throw error;
      logger.warn({ webhook: id, after: from }, 'a webhook missed events that were removed; it goes on with the oldest');
      return directory.eventFeed.read(query);
    });
    return { ...(page.events[0] && { event: page.events[0] }), upTo: page.next };
  }

  /** Switches a webhook off, unless somebody changed it since it was read: the attempt says nothing of what it is now. */
  async function disable(tried: WebhookRow, position: PositionRow, reason: 'failing' | 'gone'): Promise<void> {
    const { id, tid } = tried;
    const isAsTried = ({ version }: WebhookRow): boolean => version === tried.version;
    let isOff = false;
    await context.records.collection(webhooks, tid).update(
      id,
      (row) => {
        isOff = isAsTried(row);
        return isOff ? { ...row, status: 'disabled' as const, reason, updatedAt: new Date(context.service.now()).toISOString() } : row;
      },
      (row) => (isAsTried(row) ? [{ type: 'WebhookDisabled', data: { AggregateId: id, Reason: reason } }] : []),
    );
    if (!isOff) return;
    await move(tried, position, { after: position.after, attempts: 0 });
    logger.warn({ webhook: id, reason }, 'a webhook was switched off');
  }

  /** @returns the position to go on from; undefined when there is nothing to do for now. */
  async function deliver(webhook: WebhookRow, position: PositionRow, event: IdpEvent): Promise<PositionRow | undefined> {
    const { isTaken, status, problem = '' } = await attempt(webhook, event);
    if (isTaken) return move(webhook, position, { after: event.sequence, attempts: 0 });
    if (status === 410) return void (await disable(webhook, position, 'gone'));
    const now = context.service.now();
    const { after, attempts } = position;
    const failing = { failingSince: position.failingSince ?? new Date(now).toISOString(), problem, failedVersion: webhook.version };
    if (now - Date.parse(failing.failingSince) >= FAILING_MS) return void (await disable(webhook, position, 'failing'));
    const seconds = BACK_OFF_SECONDS[attempts];
    logger.warn({ webhook: webhook.id, event: event.id, problem }, seconds === undefined ? 'event given up' : 'event not delivered');
    if (seconds !== undefined) {
      const nextAttemptAt = new Date(now + seconds * 1000 * (0.75 + Math.random() / 2)).toISOString();
      await move(webhook, position, { ...failing, after, attempts: attempts + 1, nextAttemptAt });
      return undefined;
    }
    const letter = {
      webhookId: webhook.id,
      event: withoutFreeText(event),
      attempts: attempts + 1,
      problem,
      at: new Date(now).toISOString(),
    };
    // The id keeps a node that dies before the next write from leaving two.
    await context.records
      .collection(deadLetters, webhook.tid)
      .insert(letter, { id: `${webhook.id}.${event.sequence}` })
      .catch(IdpError.unless('conflict'));
    return move(webhook, position, { ...failing, after: event.sequence, attempts: 0 });
  }

  async function work(given: WebhookRow, signal: AbortSignal): Promise<void> {
    let position: PositionRow | undefined = await positionOf(given);
    const until = performance.now() + TURN_MS;
    for (let sent = 0; position && sent < MOST_AT_ONCE && performance.now() < until && !signal.aborted; sent += 1) {
      if (isWaiting(given, position, context.service.now())) return;
      const webhook: WebhookRow | undefined = await context.records.collection(webhooks, given.tid).get(given.id);
      if (webhook?.status !== 'active') return;
      position = asTried(webhook, position);
      const { event, upTo } = await nextOf(webhook, position);
      if (!event) return passedOver(webhook, position, upTo);
      position = await deliver(webhook, position, event);
    }
  }

  async function passedOver(webhook: WebhookRow, position: PositionRow, upTo: string): Promise<void> {
    const { id, version } = webhook;
    const writtenAt = read.get(id)?.writtenAt ?? performance.now();
    const isDue = upTo > position.after && performance.now() - writtenAt >= PASSING_MS;
    if (isDue) {
      const { id: _, tid: __, version: ___, nextAttemptAt: ____, ...kept } = position;
      await move(webhook, position, { ...kept, after: upTo, attempts: 0 });
    }
    read.set(id, { version, upTo, writtenAt: isDue ? performance.now() : writtenAt });
  }

  /** Each once, beginning after the last that was begun with. */
  async function* inTurn(): AsyncGenerator<WebhookRow> {
    const last = lastBegun;
    yield* active(last);
    if (last === undefined) return;
    for await (const webhook of active()) {
      if (webhook.id > last) return;
      yield webhook;
    }
  }

  const isFull = (tid: string): boolean =>
    tid !== context.records.ofInstance && [...working.values()].filter((one) => one.tid === tid).length >= CONCURRENCY_OF_TENANT;

  return {
    async round(signal) {
      const head = await directory.eventFeed.head();
      const seen = new Set<string>();
      for await (const webhook of inTurn()) {
        const { id, tid, version } = webhook;
        seen.add(id);
        const known = read.get(id);
        const isRead = known?.version === version && known.upTo >= head;
        if (signal.aborted || working.size >= CONCURRENCY) return;
        if (isRead || working.has(id) || isFull(tid)) continue;
        lastBegun = id;
        const sending = work(webhook, signal)
          .catch((err: unknown) => logger.error({ err, webhook: id }, 'a webhook could not be served; another attempt follows'))
          .finally(() => working.delete(id));
        working.set(id, { tid, sending });
      }
      for (const id of read.keys()) if (!seen.has(id)) read.delete(id);
    },

    async oldestPosition() {
      let oldest: string | undefined;
      for await (const webhook of active()) {
        const { after } = await positionOf(webhook);
        if (oldest === undefined || after < oldest) oldest = after;
      }
      return oldest;
    },

    async close() {
      await Promise.all([...working.values()].map(({ sending }) => sending));
    },
  };
}
