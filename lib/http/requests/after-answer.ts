import type { Context } from 'koa';

/** Milliseconds between an answer and the work that follows it, at most. */
const MOST_MS = 200;

/**
 * Does work once the answer is out, and a moment later: what takes longer for one name than for another is then neither in the time of this answer nor in
 * that of the next. A process that ends before does not do it.
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
