/** Stores that measure the records that are written to them. */
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import type { ArtifactStore } from '../../../lib/store/artifact-store.js';
import type { Collection, DirectoryStore, Row } from '../../../lib/store/directory-store.js';

/** Record that was written. */
export interface Kept {
  /** The kind of an artifact, or the collection of a row. */
  readonly kind: string;
  /** Bytes of the record's JSON before encryption. */
  readonly bytes: number;
  /** Milliseconds until the artifact expires; infinite for a row. */
  readonly forMs: number;
}

const bytesIn = (base64: string): number => Math.floor((base64.length * 3) / 4);

/** Returns the bytes of a text as if no part of the text were encrypted, or encoded as an unsigned JWT. */
function plainBytes(text: string): number {
  const sealed = text.replace(/v1\.[\w-]{8}\.[\w-]{16}\.([\w-]+)/g, (_all, base64: string) => 'x'.repeat(bytesIn(base64) - 16));
  const opened = sealed.replace(/eyJhbGciOiJub25lIn0\.([\w-]+)\./g, (_all, base64: string) => 'x'.repeat(bytesIn(base64)));
  return Buffer.byteLength(opened);
}

/** Collections of rows that the service writes by itself, after the answer. */
const later: readonly string[] = ['events', 'deliveries', 'changes'];

export function measuredStores() {
  /** Records since the start of the measurement, by key. */
  const kept = new Map<string, Kept>();
  const rows = memoryDirectory();
  const store = memoryArtifacts();

  const artifacts: ArtifactStore = {
    ...store,
    async commit(writes) {
      const result = await store.commit(writes);
      if (!result.ok) return result;
      for (const write of writes)
        if (write.op === 'put')
          kept.set(write.key, {
            kind: write.key.split('{')[0] ?? '',
            bytes: plainBytes(write.value),
            forMs: write.expiresAt - Date.now(),
          });
      return result;
    },
  };

  const bytesOf = (row: object | undefined): number => (row ? plainBytes(JSON.stringify(row)) : 0);
  function measured<R extends Row>(name: string, collection: Collection<R>): Collection<R> {
    const note = (id: string, bytes: number): void => {
      if (!later.includes(name)) kept.set(`${name}/${id}`, { kind: name, bytes, forMs: Number.POSITIVE_INFINITY });
    };
    return new Proxy(collection, {
      get(target, member) {
        const value: unknown = Reflect.get(target, member);
        if (member === 'insert' || member === 'put')
          return async (row: R) => {
            note(row.id, bytesOf(row));
            return Reflect.apply(value as never, target, [row]);
          };
        // A changed row counts by the bytes that the change adds.
        if (member === 'update')
          return (id: string, change: (row: R) => R) =>
            Reflect.apply(value as never, target, [
              id,
              (row: R) => {
                const after = change(row);
                note(id, Math.max(0, bytesOf(after) - bytesOf(row)));
                return after;
              },
            ]);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  const directory: DirectoryStore = { ...rows, collection: (name) => measured(name, rows.collection(name)) };
  return {
    artifacts,
    directory,
    /** Returns the records that a call writes to the stores. */
    async during(call: () => Promise<unknown>): Promise<readonly Kept[]> {
      kept.clear();
      await call();
      return [...kept.values()];
    },
  };
}
