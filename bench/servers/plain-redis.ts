import { Redis } from 'ioredis';
import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';

/** Models that can be used once. Records of these models are stored as hashes, in which the first use leaves a mark. */
const oneTime = new Set(['AuthorizationCode', 'RefreshToken', 'PushedAuthorizationRequest', 'BackchannelAuthenticationRequest']);

const scripts = {
  /** KEYS: record, keys of its grant's tokens (if it has a grant). ARGV: payload, seconds, whether the record is used once. */
  saveToken: `
    if ARGV[3] == '1' then redis.call('HSET', KEYS[1], 'payload', ARGV[1]) else redis.call('SET', KEYS[1], ARGV[1]) end
    redis.call('EXPIRE', KEYS[1], ARGV[2])
    if not KEYS[2] then return end
    redis.call('SADD', KEYS[2], KEYS[1])
    if redis.call('TTL', KEYS[2]) < tonumber(ARGV[2]) then redis.call('EXPIRE', KEYS[2], ARGV[2]) end`,
  /** KEYS: session, its uid's pointer. ARGV: payload, seconds. */
  saveSession: `
    redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
    redis.call('SET', KEYS[2], KEYS[1], 'EX', ARGV[2])`,
  /** KEYS: pointer. */
  follow: `
    local key = redis.call('GET', KEYS[1])
    return key and redis.call('GET', key)`,
  /** KEYS: record. ARGV: now. Returns 1 for the first use. */
  consume: `
    if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
    return redis.call('HSETNX', KEYS[1], 'consumed', ARGV[1])`,
  /** KEYS: keys of a grant's tokens. */
  revoke: `
    for _, key in ipairs(redis.call('SMEMBERS', KEYS[1])) do redis.call('UNLINK', key) end
    redis.call('UNLINK', KEYS[1])`,
};

interface Scripts {
  saveToken(keys: number, ...keysAndArguments: (string | number)[]): Promise<unknown>;
  saveSession(session: string, pointer: string, payload: string, seconds: number): Promise<unknown>;
  follow(pointer: string): Promise<string | null>;
  consume(key: string, now: number): Promise<number>;
  revoke(tokens: string): Promise<unknown>;
}

function connect(url: string): Redis & Scripts {
  const redis = new Redis(url);
  redis.defineCommand('saveToken', { lua: scripts.saveToken });
  redis.defineCommand('saveSession', { lua: scripts.saveSession, numberOfKeys: 2 });
  for (const name of ['follow', 'consume', 'revoke'] as const) redis.defineCommand(name, { lua: scripts[name], numberOfKeys: 1 });
  return redis as Redis & Scripts;
}

const parsed = (text: string | null | undefined): AdapterPayload | undefined => (text ? (JSON.parse(text) as AdapterPayload) : undefined);

/**
 * Creates oidc-provider's adapter over Redis as a careful engineer would write it. Each call is one round trip. Steps that belong together are a script. A
 * second use is refused. ioredis has its defaults (auto-pipelining is off), and no command is batched, cached or left out.
 */
export function createPlainRedisAdapters(url: string): (model: string) => Adapter {
  const redis = connect(url);
  return (model) => {
    const keyOf = (id: string): string => `${model}:${id}`;
    const pointerOf = (uid: string): string => `SessionUid:${uid}`;
    const tokensOf = (grantId: string): string => `GrantTokens:${grantId}`;
    return {
      async upsert(id, payload, expiresIn: number) {
        const text = JSON.stringify(payload);
        const keys = payload.grantId ? [keyOf(id), tokensOf(payload.grantId)] : [keyOf(id)];
        if (payload.grantId || oneTime.has(model)) await redis.saveToken(keys.length, ...keys, text, expiresIn, oneTime.has(model) ? 1 : 0);
        else if (model === 'Session' && payload.uid) await redis.saveSession(keyOf(id), pointerOf(payload.uid), text, expiresIn);
        else await redis.set(keyOf(id), text, 'EX', expiresIn);
      },
      async find(id) {
        if (!oneTime.has(model)) return parsed(await redis.get(keyOf(id)));
        const [text, consumed] = await redis.hmget(keyOf(id), 'payload', 'consumed');
        const payload = parsed(text);
        return payload && consumed ? { ...payload, consumed: Number(consumed) } : payload;
      },
      findByUid: async (uid) => parsed(await redis.follow(pointerOf(uid))),
      findByUserCode: async () => undefined,
      async consume(id) {
        const isFirst = await redis.consume(keyOf(id), Math.floor(Date.now() / 1000));
        if (!isFirst) throw new errors.InvalidGrant('already used');
      },
      async destroy(id) {
        await redis.unlink(keyOf(id));
      },
      async revokeByGrantId(grantId) {
        await redis.revoke(tokensOf(grantId));
      },
    };
  };
}
