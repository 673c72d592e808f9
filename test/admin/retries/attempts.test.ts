/** Requests with an `Idempotency-Key` whose first attempt failed: the next attempt does not wait for the first. */
import { expect, test } from '@jest/globals';
import { isWrite, operationsOf, useRetriedPosts } from './retried-posts.js';
import type { Way } from './stores-that-fail-once.js';

const { posts, names, request } = useRetriedPosts();

/** Returns the calls of a clean run at which attempts fail: with `PROVE` all, otherwise the writes. */
const chosen = (calls: readonly string[]): readonly (readonly [call: number, way: Way])[] =>
  calls.flatMap((name, index) => {
    const call = index + 1;
    if (process.env.PROVE) return (['before', 'after', 'from'] as const).map((way) => [call, way] as const);
    return isWrite(name) ? [[call, (['after', 'from'] as const)[index % 2] ?? 'after'] as const] : [];
  });

test('an attempt that a store failed gives its turn back: every POST, at the calls that it makes', async () => {
  const tried = names();
  expect((await posts()).filter((operation) => !operationsOf(tried).has(operation))).toEqual([]);
  const wrong: unknown[] = [];
  let failed = 0;
  const attempt = async (operation: string) => {
    const clean = await request(operation);
    const { answer, calls } = await clean.send();
    expect([operation, answer.status < 300, answer.text]).toEqual([operation, true, answer.text]);
    for (const [call, way] of chosen(calls)) {
      const retried = await request(operation);
      const first = (await retried.send({ call, way })).answer;
      if (first.status === 503) failed += 1;
      const last = first.status === 503 ? (await retried.send()).answer : first;
      const isUnderWay = last.status >= 500 || last.json?.code === 'idempotency_in_progress';
      if (isUnderWay) wrong.push([operation, call, calls[call - 1], way, first.status, last.status, last.json?.code]);
    }
  };
  // All SAML signing keys are in one row, which has only one next key at a time.
  const isOfKeys = (operation: string): boolean => operation.startsWith('POST /saml-signing-keys');
  const left = [...tried.filter((operation) => !isOfKeys(operation)).map((operation) => [operation]), tried.filter(isOfKeys)];
  const worker = async () => {
    for (let operations = left.pop(); operations !== undefined; operations = left.pop())
      for (const operation of operations) await attempt(operation);
  };
  // Most of the time of an attempt is waiting.
  await Promise.all(Array.from({ length: 8 }, worker));
  expect(wrong).toEqual([]);
  expect(failed).toBeGreaterThan(tried.length);
});
