import { describe, expect, test } from '@jest/globals';
import { artifactStoreCases, type ConformanceCase, directoryStoreCases } from 'tenant-idp/adapters/conformance';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import type { DirectoryStore } from '../../lib/store/directory-store.js';
import * as artifacts from './broken-artifact-stores.js';
import * as directories from './broken-directory-stores.js';

interface PlantedBug<Store> {
  readonly bug: string;
  readonly make: () => Store;
  /** A case that must notice. */
  readonly noticedBy: string;
}

const artifactBugs: readonly PlantedBug<ArtifactStore>[] = [
  {
    bug: 'a removal that does nothing',
    make: artifacts.removesNothing,
    noticedBy: 'tombstones: a removed record reads as absent',
  },
  {
    bug: 'conditions that are ignored',
    make: artifacts.ignoresConditions,
    noticedBy: 'conditions: unconsumed needs a record that was not spent',
  },
  {
    bug: 'a condition that is checked before the write instead of with it',
    make: artifacts.checksBeforeItWrites,
    noticedBy: 'races: of 50 that consume one record at once, one wins (J1)',
  },
  {
    bug: 'expiry that is left to a sweep',
    make: artifacts.leavesExpiryToTheSweep,
    noticedBy: 'expiry: an expired record reads as absent, swept or not (J3)',
  },
  {
    bug: 'a session that a late write revives',
    make: artifacts.leavesNoTombstones,
    noticedBy: 'tombstones: no put revives a removed key, with or without a condition (F2)',
  },
  {
    bug: 'a session merge that another overwrites',
    make: artifacts.ignoresVersions,
    noticedBy: 'races: 25 merges of one session at once lose nothing (F3)',
  },
  {
    bug: 'a commit that is half written when one write loses',
    make: artifacts.commitsHalf,
    noticedBy: 'conditions: when one of several writes loses, nothing of the commit is written',
  },
  {
    bug: 'a counter that loses hits',
    make: artifacts.miscounts,
    noticedBy: 'counters: 50 hits at once are each counted (G3)',
  },
];

const directoryBugs: readonly PlantedBug<DirectoryStore>[] = [
  {
    bug: 'an update that overwrites another',
    make: directories.overwritesInUpdate,
    noticedBy: 'races: 25 updates of one row at once are all applied',
  },
  {
    bug: 'an index that does not follow updates',
    make: directories.keepsStaleIndexes,
    noticedBy: 'indexes: they follow updates, puts and removals',
  },
  {
    bug: 'unique values that are not',
    make: directories.knowsNoUnique,
    noticedBy: 'unique: insert, put and update refuse a value that another row has, and write nothing',
  },
  {
    bug: 'pages that shift when rows are written',
    make: directories.pagesByOffset,
    noticedBy: 'paging: rows that are inserted or updated meanwhile neither hide nor repeat others',
  },
];

async function passes<Store extends { close(): Promise<void> }>({ run }: ConformanceCase<Store>, store: Store): Promise<boolean> {
  try {
    await run(store);
    return true;
  } catch {
    return false;
  } finally {
    await store.close();
  }
}

function testBugs<Store extends { close(): Promise<void> }>(
  bugs: readonly PlantedBug<Store>[],
  cases: readonly ConformanceCase<Store>[],
  makeSound: () => Store,
): void {
  test.each(bugs)('design §4: $bug is noticed', async ({ make, noticedBy }) => {
    const noticing = cases.find(({ name }) => name === noticedBy);
    expect(noticing).toBeDefined();
    expect(await passes(noticing!, make())).toBe(false);
    expect(await passes(noticing!, makeSound())).toBe(true);
  });

  test('design §4: each store has one bug, so most of the promises are kept', async () => {
    for (const { bug, make } of bugs) {
      const kept = await Promise.all(cases.map((conformanceCase) => passes(conformanceCase, make())));
      const share = kept.filter((pass) => pass).length / cases.length;
      expect({ bug, mostlySound: share > 0.6 }).toEqual({ bug, mostlySound: true });
    }
  });
}

describe('bugs planted in an artifact store', () => testBugs(artifactBugs, artifactStoreCases, memoryArtifacts));
describe('bugs planted in a directory store', () => testBugs(directoryBugs, directoryStoreCases, memoryDirectory));
