import { setTimeout as sleep } from 'node:timers/promises';
import type { Artifact, ArtifactStore, Put } from '../../store/artifact-store.js';

/** Milliseconds between looks, of which the last is after anybody who was told to try again has done so. */
const PAUSES_MS = [0, 100, 200, 400, 800, 1500, 3000, 4000] as const;
/** Beyond so many at once, as when a store is away, it would be asked for little. */
const MAX_AT_ONCE = 500;

let underWay = 0;

/**
 * Makes a one-time record good again that was spent by a commit whose answer did not come, and whose caller was told to try again: it may have
 * been done, or be done yet. What it bought nobody knows of.
 * @param spent the write, whose value no other write has.
 * @param before the record that it was over.
 */
export async function takeBack(store: ArtifactStore, spent: Put, before: Artifact): Promise<void> {
  if (underWay >= MAX_AT_ONCE) return;
  underWay += 1;
  try {
    for (const pause of PAUSES_MS) {
      await sleep(pause, undefined, { ref: false });
      if (await isTakenBack(store, spent, before).catch(() => false)) return;
    }
  } finally {
    underWay -= 1;
  }
}

/** Whether there is nothing left to do: it was taken back, or another one spent it meanwhile. */
async function isTakenBack(store: ArtifactStore, spent: Put, before: Artifact): Promise<boolean> {
  const now = (await store.read([{ key: spent.key }])).get(spent.key);
  if (!now) return true;
  if (now.consumedAt === undefined) return false;
  if (now.value !== spent.value) return true;
  const { version: _version, ...record } = before;
  return (await store.commit([{ ...record, op: 'put', if: { version: now.version } }])).ok;
}
