import assert from 'node:assert/strict';
import { hashedKey } from '../../../lib/store/artifact-key.js';
import type { Artifact, ArtifactKey, ArtifactStore, ArtifactWrite, Put, Remove } from '../../../lib/store/artifact-store.js';
import { LONG } from '../passing-time.js';

/** Returns a key in a slot. Keys of one slot can be committed together. */
export const keyOf = (name: string, slot = 'conformance'): ArtifactKey => hashedKey('Case', name, slot);

/** Returns a put of a record that does not expire during a case, unless the fields state another time. */
export const put = (key: ArtifactKey, fields: Partial<Omit<Put, 'op' | 'key'>> = {}): Put => ({
  op: 'put',
  key,
  value: 'value',
  expiresAt: Date.now() + LONG,
  ...fields,
});

export const remove = (key: ArtifactKey, until = Date.now() + LONG): Remove => ({ op: 'remove', key, until });

export async function readOne(store: ArtifactStore, key: ArtifactKey): Promise<Artifact | undefined> {
  return (await store.read([{ key }])).get(key);
}

export async function assertCommits(store: ArtifactStore, ...writes: readonly ArtifactWrite[]): Promise<void> {
  assert.deepEqual(await store.commit(writes), { ok: true });
}

export async function assertLoses(store: ArtifactStore, lost: ArtifactKey, ...writes: readonly ArtifactWrite[]): Promise<void> {
  assert.deepEqual(await store.commit(writes), { ok: false, lost });
}

export async function assertAbsent(store: ArtifactStore, ...keys: readonly ArtifactKey[]): Promise<void> {
  const artifacts = await store.read(keys.map((key) => ({ key })));
  assert.deepEqual([...artifacts.keys()], []);
}
