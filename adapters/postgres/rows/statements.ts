import { BOUND, IN_TIME } from '../connection.js';
import { CHURN, type Table, type TableNames } from '../tables.js';

/** Tables of the directory. */
export const directoryTables: readonly Table[] = [
  {
    name: 'rows',
    // `filled` is the number of the last index whose entries the row has.
    columns: `collection text collate "C", id text collate "C", version int not null, filled int not null, content text collate "C" not null,
      primary key (collection, id)`,
    storage: CHURN,
  },
  {
    name: 'indexes',
    columns: `id int generated always as identity primary key, collection text collate "C" not null, name text collate "C" not null,
      spec text collate "C" not null, is_complete boolean not null default false, unique (collection, name)`,
  },
  {
    name: 'entries',
    columns: `index_id int, key text collate "C", id text collate "C", is_unique boolean not null, whole text collate "C",
      primary key (index_id, key, id)`,
    storage: CHURN,
    indexes: { 'unique one': '(index_id, key) where is_unique' },
  },
];

/** Outcome of a write. `known` is false if the node does not know all indexes. In this case, nothing was written. */
export interface Outcome {
  readonly known: 'true' | 'false';
  readonly written: 'true' | 'false';
}

/** Row of an answer. */
export interface Stored {
  readonly id: string;
  readonly version: string;
  readonly content: string;
}
/**
 * Row as a write finds it. `writer` is the transaction that wrote the row. `writer` also changes if the row is removed and inserted again, or if missing
 * entries of the row are added.
 */
export interface Current extends Stored {
  readonly writer: string;
}
export interface Found extends Stored {
  readonly key: string;
}

/** Directions of a range, each with its operator and its order. */
const directions = { ascending: ['>', 'asc'], descending: ['<', 'desc'] } as const;

export type Statements = ReturnType<typeof statementsOf>;

/** Returns the statements for the rows of one collection. The collection is the parameter `$1`, or `$2` in a write, which begins with {@link BOUND}. */
export function statementsOf(names: TableNames) {
  const [rows, indexes, entries] = [names.at('rows'), names.at('indexes'), names.at('entries')];
  /** Returns a select of the rows of entries. The lateral join with a limit forces a nested loop. An entry without a row does not shorten a page. */
  const ofEntries = (columns: string) =>
    `select e.id, r.version::text as version, r.content${columns} from ${entries} e
      cross join lateral (select version, content from ${rows} where collection = $1 and id = e.id limit 1) r where e.index_id = $2::int`;
  const wholeKey = 'coalesce(e.whole, e.key)';
  // `held` locks no row. PostgreSQL locks the table of `held` before the snapshot of the statement, and this lock excludes a registration. `known`
  // therefore sees every index that is registered when the statement begins. A registration waits until the statement ends.
  const known = `with ${BOUND}, held as (select 1 from ${indexes} where false for key share),
    known as materialized (select 1 from bound
      where (select array[coalesce(max(id), 0), count(*)::int] from ${indexes} where collection = $2) = $3::int[])`;
  const top = '($3::int[])[1]';
  const added = (at: number) => `added as (insert into ${entries} as e (index_id, key, id, is_unique, whole)
    select i, k, w.id, u, h from written w, unnest($${at}::int[], $${at + 1}::text[], $${at + 2}::boolean[], $${at + 3}::text[]) as g(i, k, u, h)
    order by i, k on conflict (index_id, key, id)
    do update set whole = excluded.whole, is_unique = excluded.is_unique where e.whole is distinct from excluded.whole returning 1)`;
  const removed = (at: number) => `removed as (delete from ${entries} e using written, unnest($${at}::int[], $${at + 1}::text[]) as g(i, k)
    where e.index_id = g.i and e.key = g.k and e.id = $4 returning 1)`;
  const outcomeOf = (...waits: readonly ('added' | 'removed')[]) =>
    `select exists (select 1 from known)::text as known, (rows > 0)::text as written, ${IN_TIME}
    from bound, (select count(*) as rows from written) w, ${waits.map((part) => `(select count(*) from ${part}) of_${part}`).join(', ')}`;
  const unchanged = 'r.collection = $2 and r.id = $4 and r.version = $5::int and r.xmin = $6::xid';

  return {
    get: `select id, version::text as version, xmin::text as writer, content from ${rows} where collection = $1 and id = $2`,
    page: `select id, version::text as version, content from ${rows} where collection = $1 and id > $2 order by id limit $3::bigint`,
    lookUp: `${ofEntries('')} and e.key = $3 and e.id > $4 order by e.id limit $5::bigint`,
    lookUpWhole: `${ofEntries('')} and e.key = $3 and e.id > $4 and ${wholeKey} = $6 order by e.id limit $5::bigint`,
    /**
     * Returns the statement that reads entries behind a position, up to the end of the range. Whole index keys are compared only if a bound is longer than
     * the `key` of an entry. A needless comparison would make the planner expect few entries, and sort the whole range.
     */
    range: (direction: keyof typeof directions, end: '<' | '<=' | '>=', isLong: boolean) => {
      const [operator, order] = directions[direction];
      return `${ofEntries(', e.key')} and (e.key, e.id) ${operator} ($3, $4) and e.key ${end} $5
        ${isLong ? `and ${wholeKey} >= $7 and ${wholeKey} < $8` : ''} order by e.key ${order}, e.id ${order} limit $6::bigint`;
    },
    /** Returns the statement that reads entries with the same beginning, in the order of their whole index keys. */
    shared: (direction: keyof typeof directions) => {
      const [operator, order] = directions[direction];
      return `${ofEntries(', e.key')} and e.key = $3 and (${wholeKey}, e.id) ${operator} ($4, $5) and ${wholeKey} >= $6 and ${wholeKey} < $7
        order by ${wholeKey} ${order}, e.id ${order} limit $8::bigint`;
    },
    insert: `${known}, written as (insert into ${rows} (collection, id, version, filled, content) select $2, $4, 1, ${top}, $5 from known
      on conflict (collection, id) do nothing returning id), ${added(6)} ${outcomeOf('added')}`,
    replace: `${known}, written as (update ${rows} r set version = r.version + 1, filled = ${top}, content = $7 from known where ${unchanged} returning r.id),
      ${removed(8)}, ${added(10)} ${outcomeOf('removed', 'added')}`,
    remove: `${known}, written as (delete from ${rows} r using known where ${unchanged} returning r.id), ${removed(7)} ${outcomeOf('removed')}`,
    /** Entries of a row in these indexes. The statement reads all entries of the indexes. */
    keysOfRow: `select index_id::text as index, key from ${entries} where index_id = any($1::int[]) and id = $2`,

    registry: `select id::text as id, collection, name, spec, is_complete::text as complete from ${indexes} where collection = any($1::text[]) order by id`,
    /** Rows whose entries in the last index may be missing. */
    unfilled: `select id, version::text as version, content from ${rows}
      where collection = $1 and id > $2 and filled < $3::int order by id limit $4::bigint`,
    /** Addition of missing entries. Rows that have changed are skipped, because each write after the registration adds all entries of its row. */
    fill: `with ${BOUND}, written as (update ${rows} r set filled = $3::int from bound, unnest($4::text[], $5::int[]) as g(id, version)
      where r.collection = $2 and r.id = g.id and r.version = g.version and r.filled < $3::int returning r.id),
      added as (insert into ${entries} (index_id, key, id, is_unique, whole)
        select i, k, w.id, u, h from written w join unnest($6::text[], $7::int[], $8::text[], $9::boolean[], $10::text[]) as g(id, i, k, u, h) on g.id = w.id
        order by i, k on conflict (index_id, key, id) do nothing)
      select 'yes' as done from bound`,
    complete: `with ${BOUND}, done as (update ${indexes} i set is_complete = true from bound where i.collection = any($2::text[]) and not i.is_complete
      and not exists (select 1 from ${rows} r where r.collection = i.collection and r.filled < i.id)) select 'yes' as done from bound`,
    /** Removal of indexes that cannot be completed. */
    withdraw: `with ${BOUND}, gone as (delete from ${indexes} i using bound where i.collection = $2 and i.id = any($3::int[]) and not i.is_complete returning i.id),
      removed as (delete from ${entries} e using gone where e.index_id in (gone.id, -gone.id)) select 'yes' as done from bound`,
    /**
     * Returns the statement that registers indexes. The statement waits until all writes that do not know the indexes have ended. New writes wait for the
     * statement, so the wait is short. A `do` block has no parameters, so the declarations are written in hexadecimal digits.
     */
    register: (declared: readonly { readonly collection: string; readonly name: string; readonly spec: string }[]) =>
      `do $make$ begin perform set_config('lock_timeout', '300ms', true); lock table ${indexes} in exclusive mode;
      insert into ${indexes} (collection, name, spec) select g->>'collection', g->>'name', g->>'spec'
      from jsonb_array_elements(convert_from(decode('${Buffer.from(JSON.stringify(declared)).toString('hex')}', 'hex'), 'UTF8')::jsonb) as g
      on conflict (collection, name) do nothing; end $make$`,
  };
}
