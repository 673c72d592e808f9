/**
 * Clients and users of bare oidc-provider in a store, as a careful engineer would write their look-ups. Each look-up is one round trip, and parses one row.
 */
import { MongoClient } from 'mongodb';
import type { AdapterPayload } from 'oidc-provider';
import { plainPool } from './plain-postgres.js';

export type Claims = { readonly sub: string } & Readonly<Record<string, unknown>>;

export interface PlainDirectory {
  clientOf(id: string): Promise<AdapterPayload | undefined>;
  /** Returns the claims of a user. */
  claimsOf(sub: string): Promise<Claims | undefined>;
}

interface Contents {
  readonly clients: readonly { readonly client_id: string }[];
  readonly user: Claims;
}

/** Stores the clients and the user. @returns the look-ups */
export const createPlainDirectory = (url: string, contents: Contents): Promise<PlainDirectory> =>
  url.startsWith('postgres:') ? inPostgres(url, contents) : inMongo(url, contents);

async function inPostgres(url: string, { clients, user }: Contents): Promise<PlainDirectory> {
  const pool = plainPool(url);
  const rows = { plain_clients: clients.map((client) => [client.client_id, client] as const), plain_users: [[user.sub, user] as const] };
  for (const [table, entries] of Object.entries(rows)) {
    await pool.query(`create table if not exists ${table} (id text primary key, data jsonb not null)`);
    for (const entry of entries) await pool.query(`insert into ${table} values ($1, $2) on conflict do nothing`, [...entry]);
  }
  const find = async <T>(table: keyof typeof rows, id: string): Promise<T | undefined> =>
    (await pool.query<{ data: T }>({ name: table, text: `select data from ${table} where id = $1`, values: [id] })).rows[0]?.data;
  return { clientOf: (id) => find('plain_clients', id), claimsOf: (sub) => find('plain_users', sub) };
}

async function inMongo(url: string, { clients, user }: Contents): Promise<PlainDirectory> {
  const db = new MongoClient(url).db();
  const collectionOf = <T>(name: string) => db.collection<{ _id: string; data: T }>(name);
  const [clientRows, userRows] = [collectionOf<AdapterPayload>('plain_clients'), collectionOf<Claims>('plain_users')];
  await clientRows.insertMany(clients.map((data) => ({ _id: data.client_id, data })));
  await userRows.insertOne({ _id: user.sub, data: user });
  return {
    clientOf: async (id) => (await clientRows.findOne({ _id: id }))?.data,
    claimsOf: async (sub) => (await userRows.findOne({ _id: sub }))?.data,
  };
}
