import { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import pg from 'pg';

const table = `
  create table if not exists plain_records (
    key text primary key, payload jsonb not null, grant_id text, uid text, consumed bigint, expires_at timestamptz not null
  );
  create index if not exists plain_grants on plain_records (grant_id) where grant_id is not null;
  create index if not exists plain_uids on plain_records (uid) where uid is not null;`;

interface Record {
  readonly payload: AdapterPayload;
  readonly consumed: string | null;
}

const payloadOf = (record: Record | undefined): AdapterPayload | undefined =>
  record && (record.consumed === null ? record.payload : { ...record.payload, consumed: Number(record.consumed) });

const pools = new Map<string, pg.Pool>();

/** Returns the pool of a database. Records, clients and users in one database share one pool. */
export function plainPool(url: string): pg.Pool {
  const pool = pools.get(url) ?? new pg.Pool({ connectionString: url, max: 16 });
  pools.set(url, pool);
  return pool;
}

/**
 * Creates an adapter of oidc-provider over PostgreSQL, as a careful engineer would write the adapter. Each call is one round trip, with a statement that
 * the server has prepared. A second use of a record is refused.
 */
export async function createPlainPostgresAdapters(pool: pg.Pool): Promise<(model: string) => Adapter> {
  await pool.query(table);
  const query = async <R extends object>(name: string, text: string, values: readonly unknown[]) =>
    (await pool.query<R>({ name, text, values: [...values] })).rows;
  return (model) => {
    const keyOf = (id: string): string => `${model}:${id}`;
    return {
      async upsert(id, payload, expiresIn: number) {
        const text = `insert into plain_records (key, payload, grant_id, uid, expires_at) values ($1, $2, $3, $4, now() + $5 * interval '1 second')
          on conflict (key) do update set payload = excluded.payload, grant_id = excluded.grant_id, uid = excluded.uid, expires_at = excluded.expires_at`;
        const uid = model === 'Session' ? payload.uid : undefined;
        await query('upsert', text, [keyOf(id), payload, payload.grantId, uid, expiresIn]);
      },
      async find(id) {
        const text = 'select payload, consumed from plain_records where key = $1 and expires_at > now()';
        return payloadOf((await query<Record>('find', text, [keyOf(id)]))[0]);
      },
      async findByUid(uid) {
        const text = 'select payload, consumed from plain_records where uid = $1 and expires_at > now()';
        return payloadOf((await query<Record>('findByUid', text, [uid]))[0]);
      },
      findByUserCode: async () => undefined,
      async consume(id) {
        const text =
          'update plain_records set consumed = extract(epoch from now())::bigint where key = $1 and consumed is null returning key';
        if ((await query('consume', text, [keyOf(id)])).length === 0) throw new errors.InvalidGrant('already used');
      },
      async destroy(id) {
        await query('destroy', 'delete from plain_records where key = $1', [keyOf(id)]);
      },
      async revokeByGrantId(grantId) {
        await query('revoke', 'delete from plain_records where grant_id = $1', [grantId]);
      },
    };
  };
}
