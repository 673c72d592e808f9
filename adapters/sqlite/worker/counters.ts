import type { ArtifactKey, Counter } from '../../../lib/store/artifact-store.js';
import { storableText } from '../../sql/storable-text.js';
import type { Database } from './database.js';
import type { Statement } from './node-sqlite.js';

const schema = `
create table if not exists idp_counters (key text not null primary key, count integer not null, expires_at integer not null) strict, without rowid;
create index if not exists idp_counters_expiry on idp_counters (expires_at);
create table if not exists idp_leases (name text not null primary key, holder text not null, expires_at integer not null) strict, without rowid;
create index if not exists idp_leases_expiry on idp_leases (expires_at)`;

/** Counters over fixed windows, and leases of the services that share the file. */
export class CountersAndLeases {
  readonly #counter: Statement;
  readonly #count: Statement;
  readonly #holder: Statement;
  readonly #take: Statement;
  readonly #giveBack: Statement;

  constructor(database: Database) {
    database.exec(schema);
    this.#counter = database.prepare('select count, expires_at from idp_counters where key = ? and expires_at > ?');
    this.#count = database.prepare('insert or replace into idp_counters values (?, ?, ?)');
    this.#holder = database.prepare('select holder from idp_leases where name = ? and expires_at > ?');
    this.#take = database.prepare('insert or replace into idp_leases values (?, ?, ?)');
    this.#giveBack = database.prepare('delete from idp_leases where name = ?');
  }

  hit(counter: ArtifactKey, window: number, by: number): Counter {
    const now = Date.now();
    const current = this.#counter.get(counter, now);
    if (current === undefined && by <= 0) return { count: 0, resetsAt: now };
    const count = Math.max(0, Number(current?.count ?? 0) + by);
    const resetsAt = current === undefined ? now + Math.ceil(window) : Number(current.expires_at);
    if (by !== 0) this.#count.run(counter, count, resetsAt);
    return { count, resetsAt };
  }

  lease(name: string, holder: string, ttl: number): boolean {
    const now = Date.now();
    const [key, own] = [storableText(name), storableText(holder)];
    const current = this.#holder.get(key, now)?.holder;
    if (ttl <= 0) {
      if (current !== own) return false;
      this.#giveBack.run(key);
      return true;
    }
    if (current !== undefined && current !== own) return false;
    this.#take.run(key, own, now + Math.ceil(ttl));
    return true;
  }
}
