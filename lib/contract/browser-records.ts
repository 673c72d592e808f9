/** Records of browsers. A mailed link does not prove that its bearer asked for the mail, so a record marks the browser that asked. */
import type { Context } from 'koa';
import type { ArtifactKind, PutArtifact } from '../store/records/extension-artifacts.js';
import type { ExtensionContext } from './extension-context.js';

/** Records of one browser. No other browser can address these records. */
export interface BrowserRecords {
  put(ctx: Context, name: string, value?: unknown, options?: PutArtifact): Promise<boolean>;
  read(ctx: Context, name: string): Promise<unknown>;
}

/**
 * Returns the records of a kind. The same name stands for another record in another browser.
 * @example
 * ```ts
 * import { type Extension, recordsOfBrowsers } from 'tenant-idp/extension';
 *
 * const seen = { name: 'tour.seen', lifetimeSeconds: 86_400 };
 * export const tour: Extension = {
 *   name: 'tour',
 *   artifacts: [seen],
 *   routes(router, context) {
 *     const records = recordsOfBrowsers(context, seen);
 *     router.get('/tour', async (ctx) => {
 *       ctx.body = (await records.read(ctx, 'page 1')) === undefined ? 'Welcome.' : 'Welcome back.';
 *       await records.put(ctx, 'page 1');
 *     });
 *   },
 * };
 * ```
 */
export function recordsOfBrowsers(
  { records: { artifact }, http: { csrf } }: Pick<ExtensionContext, 'records' | 'http'>,
  kind: ArtifactKind,
): BrowserRecords {
  const idOf = (ctx: Context, name: string): string => csrf.ticket(ctx, `${kind.name} ${name}`);
  return {
    put: (ctx, name, value = {}, options = {}) => artifact(kind).put(idOf(ctx, name), value, options),
    read: (ctx, name) => artifact(kind).read(idOf(ctx, name)),
  };
}
