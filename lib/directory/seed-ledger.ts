import { IdpError } from '../errors.js';
import type { Collection, Row, Unsaved } from '../store/directory-store.js';
import { positionBehind } from '../store/index-order.js';
import type { CheckedCollection } from '../store/records/checked-directory.js';
import type { SeedRecord } from '../store/records/records.js';
import type { Collections, DirectoryContext } from './context.js';

/** Name of a collection that seeds write to. Collections of extensions have names such as `notes.entries`. */
export type SeededCollection = `${string}.${string}` | DirectoryCollection;
type DirectoryCollection = 'tenants' | 'subsidiaries' | 'groups' | 'permissions' | 'persons' | 'users' | 'clients' | 'apiResources';

/**
 * The ledger of records that seeds created. The ledger is stored with the records, so that a later run changes no other record and creates
 * no record twice.
 */
export interface SeedLedger {
  /** Returns the time that all nodes share, in milliseconds since the epoch. */
  now(): number;
  /** Notes, in the first run, whether records existed before the ledger. Call the method before any record is created. */
  begin(): Promise<void>;
  read(): Promise<SeedAccount>;
  entry(id: string): Promise<SeedRecord | undefined>;
  /** Enters the record. Resolves to the stored entry. If another node was faster, the stored entry is from that node. */
  enter(entry: Unsaved<SeedRecord>): Promise<{ readonly entry: SeedRecord; readonly isNew: boolean }>;
  /** @param change returns its argument to write nothing. */
  write(id: string, change: (entry: SeedRecord) => Unsaved<SeedRecord>): Promise<void>;
  /** Notes that the ledger is complete: from now on, an absent record without an entry never existed. */
  settle(): Promise<void>;
  /** Returns whether any record has the id, in any tenant. */
  has(collection: SeededCollection, id: string): Promise<boolean>;
  /** Returns whether the group has an unreadable member, or a member that no seed created or added. */
  hasMembersOfOthers(groupId: string): Promise<boolean>;
  /** Returns the record as it is stored now, past every cache. @throws IdpError `record_unreadable` */
  record<R extends Row>(collection: Exclude<DirectoryCollection, 'users'>, id: string): Promise<R | undefined>;
}

export interface SeedAccount {
  readonly entries: ReadonlyMap<string, SeedRecord>;
  readonly isAfterRecords: boolean;
}

const ORIGIN = 'origin';
/** Maximum members of a group that are read at the same time. */
const PAGE = 200;

export const seedEntryId = (collection: SeededCollection, id: string): string => `${collection}:${id}`;

export function createSeedLedger({ collections, now }: Pick<DirectoryContext, 'collections' | 'now'>): SeedLedger {
  const { seeds } = collections;
  const enter: SeedLedger['enter'] = async (entry) => {
    const made = await seeds.insert(entry).catch(IdpError.unless('conflict'));
    const stored = made ?? (await seeds.get(entry.id));
    if (stored) return { entry: stored, isNew: made !== undefined };
    if (await seeds.unreadable(entry.id)) throw new IdpError('record_unreadable', { collection: 'seeds', id: entry.id });
    return enter(entry);
  };

  return {
    now,
    async begin() {
      if (await seeds.has(ORIGIN)) return;
      const isAfterRecords = await hasRecords(collections);
      await enter({ id: ORIGIN, recordId: '', values: [], items: [], isAfterRecords });
    },

    async read() {
      const rows = await seeds.find({});
      const origin = rows.find(({ id }) => id === ORIGIN);
      return {
        // Without the row, an absent record may have been removed.
        isAfterRecords: origin?.isAfterRecords ?? true,
        entries: new Map(rows.map((row) => [row.id, row])),
      };
    },

    entry: (id) => seeds.get(id),
    enter,

    async write(id, change) {
      await seeds.update(id, change);
    },

    async settle() {
      await seeds
        .update(ORIGIN, (row) => (row.isAfterRecords ? { ...row, isAfterRecords: false } : row))
        .catch(IdpError.unless('record_unreadable'));
    },

    async has(collection, id) {
      const rows = Object.hasOwn(collections, collection) ? collections[collection as keyof Collections] : undefined;
      return rows?.has(id) ?? false;
    },

    async hasMembersOfOthers(groupId) {
      const persons = collections.persons.withUnreadable();
      const isOfSeed = async (userId: string): Promise<boolean> =>
        (await seeds.find({ byRecord: [userId] })).some(
          ({ isFound, items }) =>
            !isFound && items.some(({ field, item, isInSeed }) => field === 'groupIds' && item === groupId && isInSeed),
        );
      for (let after: string | undefined; ; ) {
        const page = await persons.find({ byGroup: [groupId] }, { limit: PAGE, ...(after !== undefined && { after }) });
        for (const row of page) if (!persons.isReadable(row) || !row.user || !(await isOfSeed(row.user.id))) return true;
        after = positionBehind(page, after);
        if (page.length < PAGE || after === undefined) return false;
      }
    },

    async record<R extends Row>(collection: Exclude<DirectoryCollection, 'users'>, id: string): Promise<R | undefined> {
      const rows = collections[collection] as unknown as CheckedCollection<R>;
      const row = await rows.get(id);
      if (row === undefined && (await rows.unreadable(id))) throw new IdpError('record_unreadable', { collection, id });
      return row;
    },
  };
}

/** Returns whether there are records. Events count too, because they outlive their records. */
async function hasRecords({ tenants, permissions, clients, apiResources, events }: Collections): Promise<boolean> {
  const all: readonly Pick<Collection<Row>, 'find'>[] = [tenants, permissions, clients, apiResources, events];
  const samples = await Promise.all(all.map((rows) => rows.find({}, { limit: 1 })));
  return samples.some((rows) => rows.length > 0);
}

/**
 * Forgets the removed record, and the values that a seed gave it. The entry stays, so that no seed creates the record again. The entry no
 * longer names a record, because another record that gets the id is not the seed's.
 */
export async function forgetSeeded({ seeds }: Pick<Collections, 'seeds'>, recordId: string, now: () => number): Promise<void> {
  for (const { id } of await seeds.find({ byRecord: [recordId] })) {
    await seeds
      .update(id, ({ recordCreatedAt: _, ...row }) => ({
        ...row,
        recordId: '',
        madeAt: row.madeAt ?? new Date(now()),
        values: [],
        items: [],
      }))
      .catch(IdpError.unless('record_unreadable'));
  }
}
