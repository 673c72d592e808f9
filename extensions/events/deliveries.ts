/** Operations on deliveries of a webhook: test deliveries, dead letters, replay. */
import {
  defineOperation,
  type ExtensionContext,
  IdpError,
  type Operation,
  pageOf,
  pageOfRows,
  pageQuery,
  strict,
  Type,
} from '../../lib/extension-door.js';
import type { Attempt } from './attempt.js';
import { deadLetters } from './records.js';
import { REPLAY } from './replay.js';
import { Delivery, TestResult } from './schemas.js';
import { read, webhooksOf, write } from './webhook-requests.js';

export function deliveryOperationsAt(context: ExtensionContext, attempt: Attempt, path: string): readonly Operation[] {
  const one = `${path}/{id}`;
  const stored = webhooksOf(context);
  return [
    defineOperation({
      ...write,
      method: 'POST',
      path: `${one}/test`,
      summary: 'Sends a test event to a webhook, once and without a place in the feed',
      answer: TestResult,
      async handle(request) {
        const row = await stored.require(request);
        const tenant = row.tid === context.records.ofInstance ? {} : { tid: row.tid };
        const event = {
          specversion: '1.0',
          id: request.newId(),
          source: context.service.issuer,
          type: 'WebhookTested',
          time: new Date(context.service.now()).toISOString(),
          subject: row.id,
          ...tenant,
          data: { AggregateId: row.id },
        };
        return { ...(await attempt(row, event)) };
      },
    }),
    defineOperation({
      ...read,
      method: 'GET',
      path: `${one}/deliveries`,
      summary: 'Lists events that the service gave up for a webhook, because every attempt failed',
      query: pageQuery({}, ['createdAt']),
      answer: pageOf(Delivery),
      async handle(request) {
        const { id, tid } = await stored.require(request);
        const letters = context.records.collection(deadLetters, tid);
        return pageOfRows(
          request.query,
          (page) => letters.find('byWebhook', [id], page),
          ({ id, event, attempts, problem, at }) => ({ id, event: event as never, attempts, problem, at }),
        );
      },
    }),
    defineOperation({
      ...write,
      method: 'POST',
      path: `${one}/replay`,
      summary: 'Replays the given-up events of a webhook: the events with the given ids, or all',
      body: Type.Object({ deliveries: Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: 200 })) }, strict),
      answer: Type.Object({ replayed: Type.Integer() }, strict),
      status: 202,
      async handle(request) {
        const { id, tid } = await stored.require(request);
        const wanted = request.body.deliveries && new Set(request.body.deliveries);
        // A dead letter is removed after the receiver accepts it, so a retry must not look for letters again.
        const chosen = await request.remember('letters', async () => {
          const letters = await context.records.collection(deadLetters, tid).find('byWebhook', [id]);
          const ids = letters.map((letter) => letter.id).filter((letter) => wanted?.has(letter) ?? true);
          if (wanted && ids.length < wanted.size) throw new IdpError('not_found');
          return ids;
        });
        for (const letter of chosen) (await context.work.deliver(REPLAY, { tid, id: letter })).release();
        return { replayed: chosen.length };
      },
    }),
  ];
}
