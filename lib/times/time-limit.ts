/**
 * Runs work that may hang. Resolves to the outcome of the work, or rejects after this many milliseconds. The signal of the work is then aborted, because
 * the outcome is no longer used.
 * @example
 * ```ts
 * import { withTimeLimit } from 'tenant-idp/extension';
 *
 * const answer = await withTimeLimit(2_000, (signal) => fetch('https://sms.example/send', { method: 'POST', signal }));
 * ```
 */
export async function withTimeLimit<T>(ms: number, work: (signal: AbortSignal) => T | PromiseLike<T>): Promise<T> {
  const over = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      over.abort();
      reject(new Error(`no end after ${ms} ms`));
    }, ms).unref();
  });
  try {
    return await Promise.race([work(over.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}
