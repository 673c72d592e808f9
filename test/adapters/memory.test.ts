import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { testArtifactStore, testDirectoryStore } from 'tenant-idp/adapters/conformance';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { startSweep } from '../../adapters/memory/sweep.js';
import { hashedKey } from '../../lib/store/artifact-key.js';

testArtifactStore('memory', async () => memoryArtifacts());
testDirectoryStore('memory', async () => memoryDirectory());

describe('design §4: the memory stores', () => {
  const key = hashedKey('Test', 'a');
  const linked = hashedKey('Test', 'b');

  afterEach(() => {
    jest.useRealTimers();
  });

  test('J3: a record is there until the millisecond before its expiry', async () => {
    jest.useFakeTimers({ now: 1_000_000 });
    const store = memoryArtifacts();
    await store.commit([{ op: 'put', key, value: 'v', expiresAt: 1_000_100 }]);
    jest.setSystemTime(1_000_099);
    expect((await store.read([{ key }])).size).toBe(1);
    jest.setSystemTime(1_000_100);
    expect((await store.read([{ key }])).size).toBe(0);
    await store.close();
  });

  test('artifacts come back frozen', async () => {
    const store = memoryArtifacts();
    await store.commit([{ op: 'put', key, value: 'v', expiresAt: Date.now() + 60_000, links: { grant: linked } }]);
    const artifact = (await store.read([{ key }])).get(key);
    expect(Object.isFrozen(artifact)).toBe(true);
    expect(Object.isFrozen(artifact?.links)).toBe(true);
    await store.close();
  });

  test('a row that is not plain data is refused with the place of what is not', async () => {
    const directory = memoryDirectory();
    await directory.open([{ name: 'rows', indexes: {} }]);
    const rows = directory.collection('rows');
    const row = { id: 'a', attributes: { list: [1, new Map()] } };
    await expect(rows.insert(row)).rejects.toThrow("not plain data at 'attributes.list[1]'");
    expect(await rows.get('a')).toBeUndefined();
  });

  test('the sweep drops what has expired, and nothing else', () => {
    jest.useFakeTimers({ now: 0 });
    const entries = new Map<string, { until: number }>();
    for (let index = 0; index < 1000; index++) entries.set(`gone ${index}`, { until: 10 });
    for (let index = 0; index < 1000; index++) entries.set(`live ${index}`, { until: 3_600_000 });
    const stop = startSweep([{ entries, drop: (name) => entries.delete(name) }]);
    jest.advanceTimersByTime(60_000);
    expect([...entries.keys()].filter((name) => name.startsWith('gone'))).toEqual([]);
    expect(entries.size).toBe(1000);
    stop();
    expect(jest.getTimerCount()).toBe(0);
  });

  test('close stops the sweep and nothing else', async () => {
    const store = memoryArtifacts();
    await store.close();
    await store.commit([{ op: 'put', key, value: 'v', expiresAt: Date.now() + 60_000 }]);
    expect((await store.read([{ key }])).size).toBe(1);
  });
});
