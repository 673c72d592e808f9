/** Maximum bytes, as JSON, that the store keeps of a request that anybody can send. One maximum is for at most a minute, the other for a longer time. */
const most: Record<KeptFor, number> = { minute: 16 * 1024, longer: 8 * 1024 };

/** The time for which the store keeps a value: at most a minute, or longer. */
export type KeptFor = 'minute' | 'longer';

/**
 * Returns whether the store may keep this value for a request that anybody can send. The maximum size holds for the JSON text before it is encrypted: 16
 * KiB for at most a minute, and 8 KiB for longer. In JSON, a quote takes two bytes and a control character takes six.
 * @example
 * ```ts
 * import { type Extension, IdpError, mayBeKept, parametersOf } from 'tenant-idp/extension';
 *
 * const drafts = { name: 'drafts.drafts', lifetimeSeconds: 600 };
 *
 * export const extension: Extension = {
 *   name: 'drafts',
 *   artifacts: [drafts],
 *   routes(router, { records }) {
 *     router.get('/draft', async (ctx) => {
 *       const draft = parametersOf(ctx, ['title', 'text']);
 *       if (!mayBeKept(draft, 'longer')) throw new IdpError('invalid_request');
 *       await records.artifact(drafts).put('latest', draft);
 *       ctx.status = 204;
 *     });
 *   },
 * };
 * ```
 */
export const mayBeKept = (value: object, time: KeptFor): boolean => Buffer.byteLength(JSON.stringify(value)) <= most[time];

/** Returns the maximum size in words: `at most 8 KiB`. */
export const mostKept = (time: KeptFor): string => `at most ${most[time] / 1024} KiB`;
