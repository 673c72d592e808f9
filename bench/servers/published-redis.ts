import { Redis } from 'ioredis';
import type { Adapter, AdapterPayload } from 'oidc-provider';

/** A pushed request is missing here, as in the published example. */
const consumable = new Set(['AuthorizationCode', 'RefreshToken', 'BackchannelAuthenticationRequest']);
const grantable = new Set(['AccessToken', 'AuthorizationCode', 'RefreshToken', 'BackchannelAuthenticationRequest']);

/**
 * Creates the adapter of oidc-provider's published example for Redis, command by command:
 * - Each write is a transaction.
 * - Separate commands set lifetimes.
 * - Each grant has a list of tokens, whose remaining lifetime is read first.
 * - Uses are marked but not refused.
 *
 * @see https://github.com/panva/node-oidc-provider/discussions/1309
 */
export function createPublishedRedisAdapters(url: string): (model: string) => Adapter {
  const redis = new Redis(url, { keyPrefix: 'oidc:' });
  return (model) => {
    const isConsumable = consumable.has(model);
    const keyOf = (id: string): string => `${model}:${id}`;
    const uidKeyOf = (uid: string): string => `uid:${uid}`;
    const grantKeyOf = (grantId: string): string => `grant:${grantId}`;

    async function find(id: string): Promise<AdapterPayload | undefined> {
      if (!isConsumable) {
        const text = await redis.get(keyOf(id));
        return text ? (JSON.parse(text) as AdapterPayload) : undefined;
      }
      const { payload, ...marks } = await redis.hgetall(keyOf(id));
      return payload ? { ...marks, ...(JSON.parse(payload) as AdapterPayload) } : undefined;
    }

    return {
      async upsert(id, payload, expiresIn: number) {
        const key = keyOf(id);
        const text = JSON.stringify(payload);
        const transaction = redis.multi();
        if (isConsumable) transaction.hset(key, { payload: text });
        else transaction.set(key, text);
        if (expiresIn) transaction.expire(key, expiresIn);
        if (grantable.has(model) && payload.grantId) {
          const grantKey = grantKeyOf(payload.grantId);
          transaction.rpush(grantKey, key);
          const remaining = await redis.ttl(grantKey);
          if (expiresIn > remaining) transaction.expire(grantKey, expiresIn);
        }
        if (payload.uid) {
          transaction.set(uidKeyOf(payload.uid), id);
          transaction.expire(uidKeyOf(payload.uid), expiresIn);
        }
        await transaction.exec();
      },
      find,
      findByUid: async (uid) => find(String(await redis.get(uidKeyOf(uid)))),
      findByUserCode: async () => undefined,
      async consume(id) {
        await redis.hset(keyOf(id), 'consumed', Math.floor(Date.now() / 1000));
      },
      async destroy(id) {
        await redis.del(keyOf(id));
      },
      async revokeByGrantId(grantId) {
        const transaction = redis.multi();
        for (const key of await redis.lrange(grantKeyOf(grantId), 0, -1)) transaction.del(key);
        transaction.del(grantKeyOf(grantId));
        await transaction.exec();
      },
    };
  };
}
