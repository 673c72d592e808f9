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
  /** Case that must notice the bug. */
  readonly noticedBy: string;
}

const artifactBugs: readonly PlantedBug<ArtifactStore>[] = [
  {
    bug: 'a revoke that does nothing',
    make: artifacts.removesNothing,
    noticedBy: 'tombstones: a removed record reads as absent',
  },
  {
    bug: 'a missing condition: unconsumed',
    make: artifacts.ignores('unconsumed'),
    noticedBy: 'conditions: unconsumed needs a record that was not spent',
  },
  {
    bug: 'a missing condition: absent',
    make: artifacts.ignores('absent'),
    noticedBy: 'conditions: absent holds once',
  },
  {
    bug: 'a non-atomic condition',
    make: artifacts.checksBeforeItWrites,
    noticedBy: 'races: of 50 that consume one record at once, one wins (J1)',
  },
  {
    bug: 'TTL-only expiry',
    make: artifacts.leavesExpiryToTheSweep,
    noticedBy: 'expiry: an expired record reads as absent, swept or not (J3)',
  },
  {
    bug: 'a session resurrected after destroy',
    make: artifacts.leavesNoTombstones,
    noticedBy: 'tombstones: no put revives a removed key, with or without a condition (F2)',
  },
  {
    bug: 'a lost merge of two sessions’ grants',
    make: artifacts.ignoresVersions,
    noticedBy: 'conditions: a version needs a record of exactly this one',
  },
  {
    bug: 'a lost merge of two sessions’ grants, when both write at once',
    make: artifacts.overwritesAtOnce,
    noticedBy: 'races: 25 merges of one session at once lose nothing (F3)',
  },
  {
    bug: 'a commit that is half written when one write loses',
    make: artifacts.commitsHalf,
    noticedBy: 'conditions: when one of several writes loses, nothing of the commit is written',
  },
  {
    bug: 'an account’s list that shows what was revoked',
    make: artifacts.listsWhatIsGone,
    noticedBy: 'peers: what one instance wrote the other reads at once',
  },
  {
    bug: 'a read that answers some of many keys',
    make: artifacts.readsSome,
    noticedBy: 'contract: 200 records are written or removed in one commit, as many as a session ends, and 500 read at once',
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
    bug: 'a removal that ignores the version',
    make: directories.removesAnyVersion,
    noticedBy: 'contract: a row that is removed by its version goes only while it has that version',
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
  {
    bug: 'a position that forgets rows of the same value',
    make: directories.forgetsTies,
    noticedBy: 'order: pages of any size cover all rows once, up and down, also where many have one value',
  },
  {
    bug: 'a prefix that matches in the middle',
    make: directories.findsPrefixesAnywhere,
    noticedBy: 'order: a prefix finds the texts that begin so, and no others',
  },
];

async function passes<Store extends { close(): Promise<void> }>(
  { run }: ConformanceCase<Store>,
  store: Store,
  peer = store,
): Promise<boolean> {
  try {
    await run(store, peer);
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

test('design §4: counters that each instance keeps for itself are noticed', async () => {
  const noticing = artifactStoreCases.find(({ name }) => name === 'peers: counters and leases are of all instances (G3)');
  const { store, peer } = artifacts.countsForItself();
  expect(await passes(noticing!, store, peer)).toBe(false);
  expect(await passes(noticing!, memoryArtifacts())).toBe(true);
});

test('the bugs that were asked for are among them', () => {
  const names = artifactBugs.map(({ bug }) => bug);
  for (const asked of [
    'a revoke that does nothing',
    'a missing condition',
    'a non-atomic condition',
    'TTL-only expiry',
    'a session resurrected after destroy',
    'a lost merge of two sessions’ grants',
  ])
    expect(names).toContainEqual(expect.stringContaining(asked));
});
