import { isUsableKey } from '../../directory/index.js';
import type { GuardedResponse } from '../../fetch/guarded-fetch.js';
import type { RemoteDocuments } from '../../fetch/remote-documents.js';
import type { Logger } from '../../logger.js';
import { createBounded } from '../../store/caches/bounded.js';
import { decodeUtf8 } from '../../text/decode.js';
import { nodeTime } from '../../times/node-time.js';
import type { ClientKeySets, KeySet } from '../context.js';

const LIMITS = { timeoutMs: 2_500, maxBytes: 65_536, headers: { accept: 'application/jwk-set+json, application/json' } };
const MAX_SETS = 1000;

/** Minimum seconds for which a key set is cached, even if many requests name an unknown key. The next constant is the maximum. */
const MIN_FRESH_SECONDS = 60;
const MAX_FRESH_SECONDS = 86_400;
/** Milliseconds until a request may read the set again after other requests did. */
const RETRY_MS = 1000;

export function createClientKeySets(remote: RemoteDocuments, logger: Logger): ClientKeySets {
  const documents = remote.reader(LIMITS, keySetOf);
  const good = createBounded<KeySet>({ max: MAX_SETS });
  return {
    async at(uri) {
      const known = good.get(uri);
      if (known && nodeTime() < known.freshUntil) return known;
      try {
        const read = await documents.read(uri);
        good.set(uri, read);
        return read;
      } catch (error) {
        if (!known) throw error;
        logger.info({ err: error, uri }, 'the service could not read a jwks_uri, and keeps the previous keys');
        return { keys: known.keys, freshUntil: documents.failedUntil(uri) ?? nodeTime() + RETRY_MS };
      }
    },
  };
}

function keySetOf({ status, headers, body }: GuardedResponse): KeySet {
  if (status !== 200) throw new Error(`${status} is not 200`);
  const { keys } = (JSON.parse(decodeUtf8(body) ?? '') ?? {}) as { keys?: unknown };
  if (!Array.isArray(keys)) throw new Error('there is no array of keys');
  return { keys: keys.filter(isUsableKey), freshUntil: nodeTime() + freshFor(headers) * 1000 };
}

/** @see RFC 9111 §5.2.2.1, §5.3 */
function freshFor({ 'cache-control': control = '', expires = '' }: GuardedResponse['headers']): number {
  const seconds = Number(/max-age=(\d+)/.exec(control)?.[1] ?? (Date.parse(expires) - nodeTime()) / 1000);
  return Math.min(Math.max(seconds || 0, MIN_FRESH_SECONDS), MAX_FRESH_SECONDS);
}
