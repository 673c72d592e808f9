/** Data of extensions: durable rows and short-lived artifacts. */

import type { ExtensionRecords } from '../contract/context/records.js';
import type { Extension } from '../contract/extension.js';
import {
  createExtensionData,
  type Directory,
  type ExtensionData,
  isWaitOver,
  OF_INSTANCE,
  specOf,
  wrongPathOf,
} from '../directory/index.js';
import type { ArtifactStore } from '../store/artifact-store.js';
import type { Caches } from '../store/caches/cache.js';
import type { CollectionSpec } from '../store/directory-store.js';
import type { CheckedDirectory } from '../store/records/checked-directory.js';
import { collections } from '../store/records/collections.js';
import { type ArtifactKind, createExtensionArtifacts } from '../store/records/extension-artifacts.js';
import type { WrongPath } from '../store/records/unreadable-rows.js';
import type { Sealer } from '../store/sealer.js';

const collectionsOf = (extensions: readonly Extension[]) => extensions.flatMap(({ collections = [] }) => collections);

/** Returns the collections that the store opens. */
export const extensionSpecs = (extensions: readonly Extension[]): readonly CollectionSpec[] => collectionsOf(extensions).map(specOf);

/** Returns the names of all collections that the store opens. */
export const collectionNames = (extensions: readonly Extension[]): readonly string[] =>
  [...Object.values(collections), ...extensionSpecs(extensions)].map(({ name }) => name);

/** Checks rows of extensions in the same way as rows of the service. */
export function extensionRowChecks(extensions: readonly Extension[]): WrongPath {
  const collections = new Map(collectionsOf(extensions).map((collection) => [collection.name, collection]));
  return (name, row) => {
    const collection = collections.get(name);
    return collection && wrongPathOf(collection, row);
  };
}

/** Returns the names of collections whose rows have events in them. */
export const extensionEventSources = (extensions: readonly Extension[]): readonly string[] =>
  collectionsOf(extensions).flatMap(({ name, events }) => (events ? [name] : []));

export const createRowsOfExtensions = (
  extensions: readonly Extension[],
  { store, caches, now }: { readonly store: CheckedDirectory; readonly caches: Caches; readonly now: () => number },
): ExtensionData =>
  createExtensionData({
    store,
    caches,
    now,
    collections: collectionsOf(extensions),
    events: new Set<string>(extensions.flatMap(({ events = [] }) => events)),
  });

interface RecordsParts {
  readonly extensions: readonly Extension[];
  readonly rows: ExtensionData;
  readonly artifacts: ArtifactStore;
  /** Returns the time that all nodes share, in milliseconds since the epoch. */
  readonly now: () => number;
  readonly sealer: Sealer;
  readonly directory: Directory;
}

/** Creates the group `records` of the context. */
export function createRecords(parts: RecordsParts): ExtensionRecords {
  const { extensions, rows, artifacts, now, sealer, directory } = parts;
  const isCutOff = async (oid: string, actedAt: Date): Promise<boolean> => {
    const account = await directory.accounts.findByOid(oid);
    return !account || isWaitOver(account, actedAt);
  };
  const artifactsOf = (kind: ArtifactKind, of = isCutOff) => createExtensionArtifacts({ artifacts, now, sealer, isCutOff: of }, kind);
  const kinds = new Map(extensions.flatMap((extension) => (extension.artifacts ?? []).map((kind) => [kind, artifactsOf(kind)] as const)));
  return {
    collection: rows.rows,
    collectionOfAllTenants: rows.ofAllTenants,
    cached: rows.cached,
    ofInstance: OF_INSTANCE,
    artifact(kind, account) {
      const handle = kinds.get(kind);
      if (!handle) throw new TypeError(`No extension declares the artifacts ${kind.name}. Add the kind to artifacts of the extension.`);
      if (!account) return handle;
      return artifactsOf(kind, async (oid, actedAt) =>
        oid === account.person.user.id ? isWaitOver(account, actedAt) : isCutOff(oid, actedAt),
      );
    },
    keptData: rows,
  };
}
