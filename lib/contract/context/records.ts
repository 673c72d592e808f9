import type { Static, TObject } from '@sinclair/typebox';
import type { CachedRows, ExtensionCollection, ExtensionData, ExtensionRows, RowsOfAllTenants } from '../../directory/index.js';
import type { ArtifactKind, ExtensionArtifacts } from '../../store/records/extension-artifacts.js';

/** The group `records` of the context: durable rows and short-lived artifacts of the extension. */
export interface ExtensionRecords {
  /** Returns the rows of one tenant in a collection that an extension declares. @throws TypeError for one that none does. */
  collection<Schema extends TObject>(collection: ExtensionCollection<Schema>, tid: string): ExtensionRows<Static<Schema>>;
  /**
   * Returns the rows of all tenants, and of the instance: for jobs, and for a row whose tenant is not known yet.
   * @throws TypeError for a collection that no extension declares.
   */
  collectionOfAllTenants<Schema extends TObject>(collection: ExtensionCollection<Schema>): RowsOfAllTenants<Static<Schema>>;
  /**
   * Returns rows that this node keeps until any node writes the collection, which every node hears of within about a second. The collection is declared with
   * `cached`. That a row is missing is remembered for a second. Never use it where a missing row lets somebody in: read such rows with `findAll`.
   * @param index for `findAll` @default all rows of a tenant
   * @throws TypeError for a collection that no extension declares, or that is not declared with `cached`
   */
  cached<Schema extends TObject>(collection: ExtensionCollection<Schema>, index?: string): CachedRows<Static<Schema>>;
  /** Stands for a tenant's id in {@link collection}: rows of the instance itself. */
  readonly ofInstance: string;
  /** Returns the artifacts of a kind that an extension declares. @throws TypeError for one that none does. */
  artifact(kind: ArtifactKind): ExtensionArtifacts;
  /** Rows of all extensions about a person or a tenant: to export those of a person, and to remove those of a tenant. Erasure of a person calls it by itself. */
  readonly keptData: Pick<ExtensionData, 'export' | 'removeTenant'>;
}
