import type { Static, TObject } from '@sinclair/typebox';
import type { Account, CachedRows, ExtensionCollection, ExtensionData, ExtensionRows, RowsOfAllTenants } from '../../directory/index.js';
import type { ArtifactKind, ExtensionArtifacts } from '../../store/records/extension-artifacts.js';

/** The group `records` of the context: durable rows and short-lived artifacts of the extension. */
export interface ExtensionRecords {
  /** Returns the rows of one tenant in a collection that an extension declares. @throws TypeError for a collection that no extension declares. */
  collection<Schema extends TObject>(collection: ExtensionCollection<Schema>, tid: string): ExtensionRows<Static<Schema>>;
  /**
   * Returns the rows of all tenants, and of the instance: for jobs, and for a row whose tenant is not known yet.
   * @throws TypeError for a collection that no extension declares.
   */
  collectionOfAllTenants<Schema extends TObject>(collection: ExtensionCollection<Schema>): RowsOfAllTenants<Static<Schema>>;
  /**
   * Returns rows that this node caches until any node writes the collection. Every node is notified of a write within about a second. The collection has to
   * be declared with `cached`. A missing row is cached as missing for a second. If a missing row would let a user in, do not use this method: read the rows
   * with `findAll`.
   * @param index for `findAll` @default all rows of a tenant
   * @throws TypeError for a collection that no extension declares, or that is not declared with `cached`
   */
  cached<Schema extends TObject>(collection: ExtensionCollection<Schema>, index?: string): CachedRows<Static<Schema>>;
  /** Value for the tenant's id in {@link collection} that addresses rows of the instance itself. */
  readonly ofInstance: string;
  /**
   * Returns the artifacts of a kind that an extension declares.
   * @param account that this request has just read. The cut-offs of its artifacts are compared with this account, which is not read again for each artifact.
   * @throws TypeError for a kind that no extension declares.
   */
  artifact(kind: ArtifactKind, account?: Account): ExtensionArtifacts;
  /**
   * Rows of all extensions about a person or a tenant. `export` returns the rows of a person. `removeTenant` removes the rows of a tenant. The erasure of a
   * person removes the person's rows by itself.
   */
  readonly keptData: Pick<ExtensionData, 'export' | 'removeTenant'>;
}
