/** Memory stores with one planted bug each, of the kinds that adapters have had. */
import { setImmediate as turn } from 'node:timers/promises';
import { memoryDirectory } from '../../adapters/memory/index.js';
import type { Collection, DirectoryStore, Row } from '../../lib/store/directory-store.js';
import { withCollections } from '../store/with-collections.js';

/** Returns a store whose update reads, changes, then puts. */
export function overwritesInUpdate(): DirectoryStore {
  return withCollections(memoryDirectory(), (rows) => ({
    async update(id, change) {
      const current = await rows.get(id);
      if (current === undefined) return undefined;
      const next = change(current);
      if (next === current) return current;
      if (next.id !== id) throw new TypeError('An update changes the id of a row. Insert another row instead.');
      await turn();
      return rows.put(next);
    },
  }));
}

/** Returns a store that finds rows by the values with which they were inserted. */
export function keepsStaleIndexes(): DirectoryStore {
  const store = memoryDirectory();
  const stale = memoryDirectory();
  return {
    ...withCollections(store, <R extends Row>(rows: Collection<R>, name: string): Partial<Collection<R>> => {
      const inserted = stale.collection<R>(name);
      return {
        async insert(row) {
          const written = await rows.insert(row);
          await inserted.put(row);
          return written;
        },
        async find(where, page) {
          const found = await Promise.all((await inserted.find(where, page)).map(({ id }) => rows.get(id)));
          return found.filter((row) => row !== undefined);
        },
      };
    }),
    async open(specs) {
      await stale.open(specs);
      await store.open(specs);
    },
  };
}

/** Returns a store that removes a row of any version. */
export const removesAnyVersion = (): DirectoryStore => withCollections(memoryDirectory(), (rows) => ({ remove: (id) => rows.remove(id) }));

export function knowsNoUnique(): DirectoryStore {
  const store = memoryDirectory();
  return {
    ...store,
    open: (specs) =>
      store.open(
        specs.map(({ name, indexes }) => ({
          name,
          indexes: Object.fromEntries(Object.entries(indexes).map(([index, { fields }]) => [index, { fields }])),
        })),
      ),
  };
}

/** Returns a store that pages by counting rows, not by their ids. */
export function pagesByOffset(): DirectoryStore {
  const read = new Map<string, number>();
  return withCollections(memoryDirectory(), (rows) => ({
    async find(where, page) {
      if (page === undefined) return rows.find(where);
      const start = page.after === undefined ? 0 : (read.get(page.after) ?? 0);
      const found = (await rows.find(where)).slice(start, start + page.limit);
      const last = found.at(-1);
      if (last !== undefined) read.set(last.id, start + found.length);
      return found;
    },
  }));
}

/** Returns a store that lists rows after the value of the position, whatever their ids. */
export function forgetsTies(): DirectoryStore {
  return withCollections(memoryDirectory(), (rows) => ({
    async range(range) {
      const found = await rows.range({ ...range, limit: Number.MAX_SAFE_INTEGER });
      const { after } = range;
      const isTie = (row: object) => after !== undefined && Object.values(row).includes(after.value);
      return found.filter((row) => !isTie(row)).slice(0, range.limit);
    },
  }));
}

/** Returns a store that takes the beginning of a text for any part of it. */
export function findsPrefixesAnywhere(): DirectoryStore {
  return withCollections(memoryDirectory(), (rows) => ({
    async range({ prefix, ...range }) {
      if (prefix === undefined) return rows.range(range);
      const found = await rows.range({ ...range, limit: Number.MAX_SAFE_INTEGER });
      return found.filter((row) => Object.values(row).some((value) => String(value).includes(prefix))).slice(0, range.limit);
    },
  }));
}
