import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';

interface Entry {
  readonly payload: AdapterPayload;
  readonly expiresAt: number;
}

/** Milliseconds between two looks for what has expired. */
const SWEEP_INTERVAL = 30_000;

/**
 * oidc-provider's adapter over an unbounded map, as short as it can be written: records are kept as they are given, none is copied or
 * hashed. Expired records read as absent and are swept; what is consumed twice fails.
 */
export function createBareAdapters(): (model: string) => Adapter {
  const entries = new Map<string, Entry>();
  setInterval(() => {
    const now = Date.now();
    for (const [key, { expiresAt }] of entries) if (expiresAt <= now) entries.delete(key);
  }, SWEEP_INTERVAL).unref();

  const live = (key: string): AdapterPayload | undefined => {
    const entry = entries.get(key);
    return entry && entry.expiresAt > Date.now() ? entry.payload : undefined;
  };

  return (model) => {
    const keyOf = (id: string): string => `${model}:${id}`;
    const uidKeyOf = (uid: string): string => `uid:${uid}`;
    return {
      async upsert(id, payload, expiresIn) {
        const entry = { payload, expiresAt: Date.now() + (expiresIn ?? Number.POSITIVE_INFINITY) * 1000 };
        entries.set(keyOf(id), entry);
        if (model === 'Session' && payload.uid) entries.set(uidKeyOf(payload.uid), entry);
      },
      find: async (id) => live(keyOf(id)),
      findByUid: async (uid) => live(uidKeyOf(uid)),
      findByUserCode: async () => undefined,
      async consume(id) {
        const payload = live(keyOf(id));
        if (!payload || payload.consumed) throw new errors.InvalidGrant('already used');
        payload.consumed = Math.floor(Date.now() / 1000);
      },
      async destroy(id) {
        entries.delete(keyOf(id));
      },
      async revokeByGrantId(grantId) {
        for (const [key, { payload }] of entries) if (payload.grantId === grantId) entries.delete(key);
      },
    };
  };
}
