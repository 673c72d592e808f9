/**
 * Documents at URLs that clients registered: request objects, key sets, sector identifiers. Unknown senders can cause reads as often as they like. A URL is
 * therefore read once at a time, and is not read for a minute after a failure. The number of concurrent reads is limited.
 */
import { LRUCache } from 'lru-cache';
import { nodeTime } from '../times/node-time.js';
import { type ConcurrencyLimit, createConcurrencyLimit } from './concurrency-limit.js';
import type { GuardedFetch, GuardedRequest, GuardedResponse } from './guarded-fetch.js';

/** Milliseconds for which a URL is not read after a failure. */
const FAILED_FOR_MS = 60_000;
const MAX_FAILURES = 10_000;
const MAX_CALLS = 32;
const MAX_WAITING = 256;
const MAX_WAITING_FOR_URL = 32;

export interface DocumentReader<T> {
  /** Returns the document. Concurrent calls share one read. @throws the error of the read, or of `take`. The same error is thrown for a minute. */
  read(url: string): Promise<T>;
  /** Reads the document for this call alone, after running reads of the URL. @throws as {@link read} does. */
  readAnew(url: string): Promise<T>;
  /** Returns the time until which a failed URL is not read, in milliseconds since the epoch; undefined for a URL that did not fail. */
  failedUntil(url: string): number | undefined;
}

export interface RemoteDocuments {
  /** @param take returns the document of an answer, or throws its problem. */
  reader<T>(request: Omit<GuardedRequest, 'method' | 'body'>, take: (answer: GuardedResponse, url: string) => T): DocumentReader<T>;
}

export function createRemoteDocuments(fetch: GuardedFetch): RemoteDocuments {
  const calls = createConcurrencyLimit({ max: MAX_CALLS, maxWaiting: MAX_WAITING });

  return {
    reader<T>(request: Omit<GuardedRequest, 'method' | 'body'>, take: (answer: GuardedResponse, url: string) => T): DocumentReader<T> {
      /** Created on first use, because allocating its space takes milliseconds. */
      let failures: LRUCache<string, { readonly error: unknown; readonly until: number }> | undefined;
      const turns = new Map<string, ConcurrencyLimit>();
      const reading = new Map<string, Promise<T>>();

      const failureOf = (url: string) => {
        const failure = failures?.get(withoutFragment(url));
        return failure && nodeTime() < failure.until ? failure : undefined;
      };

      async function call(url: string): Promise<T> {
        const failure = failureOf(url);
        if (failure) throw failure.error;
        return calls.run(request.timeoutMs, async () => {
          try {
            return take(await fetch(url, request), url);
          } catch (error) {
            failures ??= new LRUCache({ max: MAX_FAILURES });
            failures.set(withoutFragment(url), { error, until: nodeTime() + FAILED_FOR_MS });
            throw error;
          }
        });
      }

      async function readAnew(url: string): Promise<T> {
        const key = withoutFragment(url);
        const own = turns.get(key) ?? createConcurrencyLimit({ max: 1, maxWaiting: MAX_WAITING_FOR_URL });
        turns.set(key, own);
        try {
          return await own.run(request.timeoutMs, () => call(url));
        } finally {
          if (own.isIdle()) turns.delete(key);
        }
      }

      return {
        readAnew,
        read(url) {
          const underWay = reading.get(url);
          if (underWay !== undefined) return underWay;
          const begun = readAnew(url).finally(() => reading.delete(url));
          reading.set(url, begun);
          return begun;
        },
        failedUntil: (url) => failureOf(url)?.until,
      };
    },
  };
}

const withoutFragment = (url: string): string => url.split('#', 1)[0] as string;
