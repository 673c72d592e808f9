import { type ExtensionContext, IdpError, type IdpEvent, type JobRound, present, retryAfterMs } from '../../lib/extension-door.js';
import type { Attempt } from './attempt.js';
import { deadLetters, type PositionFields, type PositionRow, positions, type WebhookRow, webhooks, withoutFreeText } from './records.js';

/**
 * Delivers events to webhooks at least once, to each webhook in the order of the feed, from its position on. One node delivers, under the lease of the job
 * that calls {@link Sender.round}. A position moves by compare-and-swap, so that a node that was paused cannot move it back.
 */
export interface Sender {
  /** Starts deliveries to the webhooks that have not got all events. */
  round(round: JobRound): Promise<void>;
  /** Returns the oldest position of the active webhooks; undefined if no webhook is active. */
  oldestPosition(): Promise<string | undefined>;
}

/** Milliseconds of failed attempts after which a webhook is disabled. */
const FAILING_MS = 5 * 86_400_000;
/** Maximum events that are sent to a webhook before other webhooks are served. */
const MOST_AT_ONCE = 100;
/** Milliseconds after which no further event is sent to a webhook before other webhooks are served. */
const TURN_MS = 10_000;
/** Maximum webhooks that are served at the same time. */
export const CONCURRENCY = 16;
/** Maximum webhooks of one tenant that are served at the same time, so that slow receivers of one tenant do not delay others. */
const CONCURRENCY_OF_TENANT = 4;
const PAGE = 100;
/** Milliseconds between two writes of a position that only passed events of types that the webhook does not get. */
const PASSING_MS = 60_000;

/** Returns a position without the failures of earlier versions of the webhook. */
function asTried({ version }: WebhookRow, position: PositionRow): PositionRow {
  const { failedVersion = version, nextAttemptAt: _, failingSince: __, problem: ___, ...rest } = position;
  return failedVersion === version ? position : { ...rest, attempts: 0 };
}

const isWaiting = (webhook: WebhookRow, position: PositionRow, now: number): boolean => {
  const { nextAttemptAt } = asTried(webhook, position);
  return nextAttemptAt !== undefined && Date.parse(nextAttemptAt) > now;
};

/** End of the events that were read for a webhook, so that no event is read twice, and the last write of its position. */
interface Read {
  readonly version: number;
  readonly upTo: string;
  readonly writtenAt: number;
}

export const createSender = (context: ExtensionContext, attempt: Attempt): Sender => new WebhookSender(context, attempt);

class WebhookSender implements Sender {
  readonly #context: ExtensionContext;
  readonly #attempt: Attempt;
  readonly #read = new Map<string, Read>();
  /** Number of webhooks that are served now, by tenant. */
  readonly #servedOf = new Map<string, number>();
  /** The last webhook that was started. The next round continues after this webhook, so that every webhook is served. */
  #lastBegun: string | undefined;

  constructor(context: ExtensionContext, attempt: Attempt) {
    this.#context = context;
    this.#attempt = attempt;
  }

  async round(round: JobRound): Promise<void> {
    let head: string | undefined;
    const seen = new Set<string>();
    for await (const webhook of this.#inTurn()) {
      const { id, version } = webhook;
      seen.add(id);
      const read = this.#read.get(id);
      // Read once for all webhooks, and not at all while there are none.
      head ??= await this.#context.directory.eventFeed.head();
      const isRead = read?.version === version && read.upTo >= head;
      if (round.signal.aborted || round.isFull()) return;
      if (isRead || this.#isFull(webhook)) continue;
      if (await round.attempt(webhook, () => this.#serve(webhook, round.signal))) this.#lastBegun = id;
    }
    for (const id of this.#read.keys()) if (!seen.has(id)) this.#read.delete(id);
  }

  async oldestPosition(): Promise<string | undefined> {
    let oldest: string | undefined;
    for await (const webhook of this.#active()) {
      const { after } = await this.#positionOf(webhook);
      if (oldest === undefined || after < oldest) oldest = after;
    }
    return oldest;
  }

  /** Yields each active webhook once, beginning after the webhook that was started last. */
  async *#inTurn(): AsyncGenerator<WebhookRow> {
    const last = this.#lastBegun;
    yield* this.#active(last);
    if (last === undefined) return;
    for await (const webhook of this.#active()) {
      if (webhook.id > last) return;
      yield webhook;
    }
  }

  /** Yields active webhooks in the order of their ids. @param from the id before the first webhook */
  async *#active(from?: string): AsyncGenerator<WebhookRow> {
    for (let after = from; ; ) {
      const rows = await this.#context.records.collectionOfAllTenants(webhooks).list({ limit: PAGE, ...present({ after }) });
      yield* rows.filter(({ status }) => status === 'active');
      after = rows.at(-1)?.id;
      if (rows.length < PAGE) return;
    }
  }

  #isFull({ tid }: WebhookRow): boolean {
    return tid !== this.#context.records.ofInstance && (this.#servedOf.get(tid) ?? 0) >= CONCURRENCY_OF_TENANT;
  }

  async #serve(webhook: WebhookRow, signal: AbortSignal): Promise<void> {
    const { tid } = webhook;
    const count = (change: 1 | -1): void => {
      const served = (this.#servedOf.get(tid) ?? 0) + change;
      if (served > 0) this.#servedOf.set(tid, served);
      else this.#servedOf.delete(tid);
    };
    count(1);
    try {
      await this.#send(webhook, signal);
    } finally {
      count(-1);
    }
  }

  async #send(given: WebhookRow, signal: AbortSignal): Promise<void> {
    const { records, service } = this.#context;
    let position: PositionRow | undefined = await this.#positionOf(given);
    const until = performance.now() + TURN_MS;
    for (let sent = 0; position && sent < MOST_AT_ONCE && performance.now() < until && !signal.aborted; sent += 1) {
      if (isWaiting(given, position, service.now())) return;
      const webhook: WebhookRow | undefined = await records.collection(webhooks, given.tid).get(given.id);
      if (webhook?.status !== 'active') return;
      position = asTried(webhook, position);
      const { event, upTo } = await this.#nextOf(webhook, position);
      if (!event) return this.#passedOver(webhook, position, upTo);
      position = await this.#deliver(webhook, position, event);
    }
  }

  /** Returns the next event, and the sequence up to which the feed was read. */
  async #nextOf({ id, tid, types, version }: WebhookRow, { after }: PositionRow): Promise<{ event?: IdpEvent; upTo: string }> {
    const { directory, records, service } = this.#context;
    const read = this.#read.get(id);
    const from = read?.version === version && read.upTo > after ? read.upTo : after;
    const query = { limit: 1, ...(tid === records.ofInstance ? {} : { tid }), ...(types ? { types } : {}) };
    const page = await directory.eventFeed.read({ ...query, after: from }).catch((error: unknown) => {
      if (!IdpError.is(error, 'cursor_expired')) throw error;
      service.logger.warn({ webhook: id, after: from }, 'a webhook missed removed events, and continues with the oldest event');
      return directory.eventFeed.read(query);
    });
    return { ...(page.events[0] && { event: page.events[0] }), upTo: page.next };
  }

  /** Delivers an event. @returns the next position; undefined if the webhook must wait, or the position was moved by another node */
  async #deliver(webhook: WebhookRow, position: PositionRow, event: IdpEvent): Promise<PositionRow | undefined> {
    const { logger, now } = this.#context.service;
    const { isTaken, status, problem = '' } = await this.#attempt(webhook, event);
    if (isTaken) return this.#move(webhook, position, { after: event.sequence, attempts: 0 });
    if (status === 410) return void (await this.#disable(webhook, position, 'gone'));
    const failedAt = now();
    const { after, attempts } = position;
    const failing = { failingSince: position.failingSince ?? new Date(failedAt).toISOString(), problem, failedVersion: webhook.version };
    if (failedAt - Date.parse(failing.failingSince) >= FAILING_MS) return void (await this.#disable(webhook, position, 'failing'));
    const wait = retryAfterMs(attempts);
    logger.warn(
      { webhook: webhook.id, event: event.id, problem },
      wait === undefined ? 'the service gave up an event of a webhook' : 'the service could not deliver an event to a webhook, and retries',
    );
    if (wait !== undefined) {
      const nextAttemptAt = new Date(failedAt + wait).toISOString();
      await this.#move(webhook, position, { ...failing, after, attempts: attempts + 1, nextAttemptAt });
      return undefined;
    }
    await this.#keepLetter(webhook, event, { attempts: attempts + 1, problem, at: new Date(failedAt).toISOString() });
    return this.#move(webhook, position, { ...failing, after: event.sequence, attempts: 0 });
  }

  /** Stores an undeliverable event. The id of the row is fixed, so that a crash before the next write does not lead to a duplicate. */
  async #keepLetter(
    { id: webhookId, tid }: WebhookRow,
    event: IdpEvent,
    failure: { readonly attempts: number; readonly problem: string; readonly at: string },
  ): Promise<void> {
    await this.#context.records
      .collection(deadLetters, tid)
      .insert({ webhookId, event: withoutFreeText(event), ...failure }, { id: `${webhookId}.${event.sequence}` })
      .catch(IdpError.unless('conflict'));
  }

  async #passedOver(webhook: WebhookRow, position: PositionRow, upTo: string): Promise<void> {
    const { id, version } = webhook;
    const writtenAt = this.#read.get(id)?.writtenAt ?? performance.now();
    const isDue = upTo > position.after && performance.now() - writtenAt >= PASSING_MS;
    if (isDue) {
      const { id: _, tid: __, version: ___, nextAttemptAt: ____, ...fields } = position;
      await this.#move(webhook, position, { ...fields, after: upTo, attempts: 0 });
    }
    this.#read.set(id, { version, upTo, writtenAt: isDue ? performance.now() : writtenAt });
  }

  /** Disables a webhook, unless it was changed after it was read. The failed attempt does not apply to a changed webhook. */
  async #disable(tried: WebhookRow, position: PositionRow, reason: 'failing' | 'gone'): Promise<void> {
    const { records, service } = this.#context;
    const { id, tid } = tried;
    const isAsTried = ({ version }: WebhookRow): boolean => version === tried.version;
    let isOff = false;
    await records.collection(webhooks, tid).update(
      id,
      (row) => {
        isOff = isAsTried(row);
        return isOff ? { ...row, status: 'disabled' as const, reason, updatedAt: new Date(service.now()).toISOString() } : row;
      },
      (row) => (isAsTried(row) ? [{ type: 'WebhookDisabled', data: { AggregateId: id, Reason: reason } }] : []),
    );
    if (!isOff) return;
    await this.#move(tried, position, { after: position.after, attempts: 0 });
    service.logger.warn({ webhook: id, reason }, 'the service disabled a webhook');
  }

  async #positionOf({ id, tid, from }: WebhookRow): Promise<PositionRow> {
    const rows = this.#context.records.collection(positions, tid);
    const row = await rows.get(id);
    if (row) return row;
    const made = await rows.insert({ after: from, attempts: 0 }, { id }).catch(IdpError.unless('conflict'));
    const position = made ?? (await rows.get(id));
    if (!position) throw new IdpError('not_found');
    return position;
  }

  /** Moves a position. Returns undefined if another node has moved it. */
  async #move({ id, tid }: WebhookRow, { version }: PositionRow, next: PositionFields): Promise<PositionRow | undefined> {
    let isOurs = false;
    const row = await this.#context.records.collection(positions, tid).update(id, (current) => {
      isOurs = current.version === version;
      return isOurs ? next : current;
    });
    return isOurs ? row : undefined;
  }
}
