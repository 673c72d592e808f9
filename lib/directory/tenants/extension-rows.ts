/** Rows of extensions: a collection by declaration, tenant by tenant. */
import type { Static, TObject } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { CheckedCollection, CheckedDirectory } from '../../store/checked-directory.js';
import type { CollectionSpec, IndexSpec, Page, Row } from '../../store/directory-store.js';
import { newId } from '../identifiers.js';
import { createTenantScope } from './tenant-scope.js';

/** Who is erased, or asks for what is known of them. */
export interface PersonRef {
  readonly tid: string;
  readonly personId: string;
  /** Absent where the person has no user. */
  readonly userId?: string;
}

/** A row as an extension gets it: its own members, and those that every row has. */
export type ExtensionRow<Members> = Members & Row & { readonly tid: string };

/** The rows of one tenant. A row of another is one that does not exist. */
export interface ExtensionRows<Members> {
  get(id: string): Promise<ExtensionRow<Members> | undefined>;
  /** Rows of an index, by the values of its fields; ordered by id. Without a page, all. */
  find(index: string, values: readonly string[], page?: Page): Promise<readonly ExtensionRow<Members>[]>;
  /** All rows of the tenant, ordered by id. */
  list(page?: Page): Promise<readonly ExtensionRow<Members>[]>;
  /** @param id @default a new UUID. @throws IdpError `invalid_record`; `conflict` when the id or a unique value is taken. */
  insert(members: Members, id?: string): Promise<ExtensionRow<Members>>;
  /**
   * Compare-and-swap: `change` may run again when another write came between. Returning its argument writes nothing.
   * @throws IdpError `not_found`, `invalid_record`, `conflict`.
   */
  update(id: string, change: (row: ExtensionRow<Members>) => Members): Promise<ExtensionRow<Members>>;
  /** @throws IdpError `not_found`. */
  remove(id: string): Promise<void>;
}

/** A durable collection of an extension. Each row is of one tenant, and goes with it. */
export interface ExtensionCollection<Schema extends TObject = TObject> {
  /** The extension's name, a dot, and a name of its own: `notes.entries`. */
  readonly name: string;
  /** What a row holds beside `id`, `version` and `tid`. A stored row of another form is left out, as if it was not there. */
  readonly row: Schema;
  /** By name; unique ones are within a tenant. */
  readonly indexes?: Readonly<Record<string, IndexSpec>>;
  /** Erases what is kept of a person; it is called until it succeeds, so perhaps more than once. */
  readonly erase?: (rows: ExtensionRows<Static<Schema>>, person: PersonRef) => Promise<void>;
  /** What a person is told that is kept of them. */
  readonly export?: (rows: ExtensionRows<Static<Schema>>, person: PersonRef) => Promise<readonly object[]>;
  /** Ends what depends on a tenant elsewhere, before its rows are removed. */
  readonly tenantRemoved?: (rows: ExtensionRows<Static<Schema>>, tid: string) => Promise<void>;
}

/** Index of all rows of a tenant: extensions have no other of this name. */
const TENANT_INDEX = 'byTenant';

/** What the store is asked to keep ready. */
export const specOf = ({ name, indexes = {} }: ExtensionCollection): CollectionSpec => ({
  name,
  indexes: {
    [TENANT_INDEX]: { fields: ['tid'] },
    ...Object.fromEntries(Object.entries(indexes).map(([index, spec]) => [index, { ...spec, fields: ['tid', ...spec.fields] }])),
  },
});

const anyRow = (row: object): boolean => {
  const { id, version, tid } = row as Partial<ExtensionRow<unknown>>;
  return typeof id === 'string' && Number.isSafeInteger(version) && typeof tid === 'string';
};

/** The first member of a row that is not of its form. */
export function wrongMemberOf({ row: schema }: ExtensionCollection, row: object): string | undefined {
  if (!anyRow(row)) return 'id';
  const { id: _, version: __, tid: ___, ...members } = row as ExtensionRow<object>;
  return Value.Check(schema, members) ? undefined : (Value.Errors(schema, members).First()?.path.split('/')[1] ?? 'id');
}

/** Rows of the collections of all extensions. */
export interface ExtensionData {
  /** @throws TypeError for a collection that no extension declared. */
  rows<Schema extends TObject>(collection: ExtensionCollection<Schema>, tid: string): ExtensionRows<Static<Schema>>;
  /** Whether anything is to be erased with a person. */
  readonly hasErasure: boolean;
  erase(person: PersonRef): Promise<void>;
  /** By collection. */
  export(person: PersonRef): Promise<Readonly<Record<string, readonly object[]>>>;
  /** Removes all rows of a tenant. */
  removeTenant(tid: string): Promise<void>;
}

const PAGE = 100;

export function createExtensionData(store: CheckedDirectory, collections: readonly ExtensionCollection[]): ExtensionData {
  type AnyRow = Row & { readonly tid: string };
  const declared = new Map(collections.map((collection) => [collection.name, collection]));

  function rows<Schema extends TObject>(collection: ExtensionCollection<Schema>, tid: string): ExtensionRows<Static<Schema>> {
    if (declared.get(collection.name) !== (collection as unknown))
      throw new TypeError(`no extension declares the collection ${collection.name}`);
    const kept = store.collection(collection.name) as unknown as CheckedCollection<AnyRow>;
    const scope = createTenantScope<AnyRow>(kept, specOf(collection as unknown as ExtensionCollection), tid);
    const own = {
      get: scope.get,
      find: scope.find,
      list: (page?: Page) => scope.find(TENANT_INDEX, [], page),
      insert: (members: object, id = newId()) => scope.insert({ ...members, id }),
      update: (id: string, change: (row: AnyRow) => object) => scope.update(id, (row) => change(row) as AnyRow),
      remove: scope.remove,
    };
    return own as unknown as ExtensionRows<Static<Schema>>;
  }

  return {
    rows,
    hasErasure: collections.some(({ erase }) => erase !== undefined),
    async erase(person) {
      for (const collection of collections) await collection.erase?.(rows(collection, person.tid), person);
    },
    async export(person) {
      const parts: Record<string, readonly object[]> = {};
      for (const collection of collections)
        if (collection.export) parts[collection.name] = await collection.export(rows(collection, person.tid), person);
      return parts;
    },
    async removeTenant(tid) {
      for (const collection of collections) {
        const own = rows(collection, tid);
        await collection.tenantRemoved?.(own, tid);
        for (;;) {
          const page = await own.list({ limit: PAGE });
          for (const { id } of page) await store.collection(collection.name).remove(id);
          if (page.length < PAGE) break;
        }
      }
    },
  };
}
