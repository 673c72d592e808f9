import type { Context } from 'koa';

/** Maximum milliseconds between an answer and the work that follows it. */
const MOST_MS = 200;

/**
 * Does work a moment after the answer was sent. The work may take longer for one name than for another. The delay hides this difference from the time of
 * this answer and of the next answer. The work is lost if the service stops before.
 * @example
 * ```ts
 * import { afterAnswer, type Extension } from 'tenant-idp/extension';
 *
 * export const reminders: Extension = {
 *   name: 'reminders',
 *   deliveries: () => ({ 'reminders.look-up': async () => {} }),
 *   routes(router, { work }) {
 *     router.postWithoutCsrf('/reminders', async (ctx) => {
 *       const enqueued = await work.deliver('reminders.look-up', { name: 'alice' });
 *       afterAnswer(ctx, enqueued.release);
 *       ctx.status = 202;
 *     });
 *   },
 * };
 * ```
 */
export function afterAnswer(ctx: Context, work: () => void): void {
  ctx.res.once('close', () => setTimeout(work, Math.random() * MOST_MS).unref());
}
