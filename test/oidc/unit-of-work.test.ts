import { describe, expect, test } from '@jest/globals';
import { memoryArtifacts } from 'tenant-idp/adapters/memory';
import { LostWrite } from '../../lib/oidc/artifacts/lost-writes.js';
import { UnitOfWork } from '../../lib/oidc/artifacts/unit-of-work.js';
import { artifactKey } from '../../lib/store/artifact-key.js';
import type { ArtifactKey, ArtifactStore, ArtifactWrite, Put } from '../../lib/store/artifact-store.js';

const keyOf = (kind: string, slot: string, name = 'x') =>
  artifactKey(kind, `${slot.padEnd(11, '0')}${name.padEnd(20, '0')}`) as ArtifactKey;
const put = (key: ArtifactKey, value = 'v', more: Partial<Put> = {}): Put => ({
  op: 'put',
  key,
  value,
  expiresAt: Date.now() + 60_000,
  ...more,
});
const until = () => Date.now() + 60_000;

/** Returns a store that counts its reads and records its commits. */
function watched(): { store: ArtifactStore; commits: (readonly ArtifactWrite[])[]; reads: number } {
  const inner = memoryArtifacts();
  const seen = {
    commits: [] as (readonly ArtifactWrite[])[],
    reads: 0,
    store: {
      ...inner,
      read: (requests) => {
        seen.reads += 1;
        return inner.read(requests);
      },
      commit: (writes) => {
        seen.commits.push(writes);
        return inner.commit(writes);
      },
    } as ArtifactStore,
  };
  return seen;
}

const session = keyOf('Session', 'one');
const code = keyOf('AuthorizationCode', 'one');
const pushed = keyOf('PushedAuthorizationRequest', 'two');

describe('what a request reads and writes', () => {
  test('is read once, linked records with it', async () => {
    const seen = watched();
    const grant = keyOf('Grant', 'one');
    await seen.store.commit([put(grant), put(code, 'c', { links: { grant } })]);
    const unit = new UnitOfWork(seen.store);
    expect(await unit.read(code, ['grant'])).toMatchObject({ value: 'c' });
    expect(await unit.read(grant)).toMatchObject({ value: 'v' });
    expect(await unit.read(code)).toBe(unit.peek(code));
    expect(await unit.read(session)).toBeUndefined();
    await unit.read(session);
    expect(seen.reads).toBe(2);
  });

  test('is read with what is in another slot, when that is named', async () => {
    const seen = watched();
    await seen.store.commit([put(session), put(pushed, 'p')]);
    const unit = new UnitOfWork(seen.store);
    expect(await unit.read(session, [], [pushed])).toMatchObject({ value: 'v' });
    expect(unit.read(pushed)).toMatchObject({ value: 'p' });
    expect(seen.reads).toBe(1);
  });

  test('is seen by itself at once and by others once committed', async () => {
    const { store, commits } = watched();
    const unit = new UnitOfWork(store);
    unit.put(put(session, 'mine'));
    expect(await unit.read(session)).toMatchObject({ value: 'mine' });
    expect(await new UnitOfWork(store).read(session)).toBeUndefined();
    await unit.commit();
    await unit.commit();
    expect(await new UnitOfWork(store).read(session)).toMatchObject({ value: 'mine', version: 1 });
    expect(commits).toHaveLength(1);
  });

  test('what it removed it does not write again', async () => {
    const { store } = watched();
    const unit = new UnitOfWork(store);
    unit.remove(session, until());
    unit.put(put(session));
    expect(await unit.read(session)).toBeUndefined();
    await unit.commit();
    expect(await new UnitOfWork(store).read(session)).toBeUndefined();
  });

  test('is one commit for each slot, the one-time records of other slots first', async () => {
    const { store, commits } = watched();
    await store.commit([put(pushed)]);
    const unit = new UnitOfWork(store);
    unit.put(put(session));
    unit.put(put(code));
    unit.put(put(pushed, 'spent', { consumedAt: 1, if: 'unconsumed' }));
    await unit.commit();
    expect(commits.slice(1).map((writes) => writes.map(({ key }) => key))).toEqual([[pushed], [session, code]]);
  });
});

describe('a condition that does not hold', () => {
  test('keeps everything unwritten, in its slot and in the slots after', async () => {
    const { store } = watched();
    await store.commit([put(pushed, 'spent', { consumedAt: 1 })]);
    const unit = new UnitOfWork(store);
    unit.put(put(session));
    unit.put(put(pushed, 'again', { consumedAt: 2, if: 'unconsumed' }));
    await expect(unit.commit()).rejects.toMatchObject({ constructor: LostWrite, key: pushed });
    await unit.commit();
    expect((await store.read([{ key: session }])).size).toBe(0);
  });

  test('is merged with what is there now, and tried again', async () => {
    const { store } = watched();
    await store.commit([put(session, 'a')]);
    const unit = new UnitOfWork(store);
    await unit.read(session);
    unit.put(
      put(session, 'mine', { if: { version: 1 } }),
      (fresh) => fresh && put(session, `${fresh.value}+mine`, { if: { version: fresh.version } }),
    );
    unit.put(put(code));
    await store.commit([put(session, 'theirs')]);
    await unit.commit();
    const found = await store.read([{ key: session }, { key: code }]);
    expect(found.get(session)).toMatchObject({ value: 'theirs+mine', version: 3 });
    expect(found.get(code)).toBeDefined();
  });

  test('a tombstone is lost for good, and what goes with it is not written', async () => {
    const { store } = watched();
    await store.commit([put(session, 'a')]);
    const unit = new UnitOfWork(store);
    await unit.read(session);
    unit.put(put(session, 'mine', { if: { version: 1 } }), (fresh) => fresh && put(session, 'never', { if: { version: fresh.version } }));
    unit.put(put(code));
    await store.commit([{ op: 'remove', key: session, until: until() }]);
    await expect(unit.commit()).rejects.toBeInstanceOf(LostWrite);
    expect((await store.read([{ key: session }, { key: code }])).size).toBe(0);
  });

  test('a merge that never wins gives up', async () => {
    const { store } = watched();
    await store.commit([put(session, 'a')]);
    const unit = new UnitOfWork(store);
    let tries = 0;
    unit.put(put(session, 'mine', { if: { version: 99 } }), () => {
      tries += 1;
      return put(session, 'mine', { if: { version: 99 } });
    });
    await expect(unit.commit()).rejects.toBeInstanceOf(LostWrite);
    expect(tries).toBe(16);
  });

  test('after a reset the request can be tried again on what is there now', async () => {
    const { store } = watched();
    await store.commit([put(code, 'fresh')]);
    const unit = new UnitOfWork(store);
    await unit.read(code);
    await store.commit([put(code, 'spent', { consumedAt: 1 })]);
    unit.put(put(code, 'mine', { consumedAt: 2, if: 'unconsumed' }));
    await expect(unit.commit()).rejects.toBeInstanceOf(LostWrite);
    unit.reset();
    expect(await unit.read(code)).toMatchObject({ value: 'spent' });
  });
});

test('L1: what a store fails with passes on as it is', async () => {
  const down = () => Promise.reject(new Error('down'));
  const unit = new UnitOfWork({ ...memoryArtifacts(), read: down, commit: down });
  await expect(unit.read(session)).rejects.toThrow('down');
  unit.put(put(session));
  await expect(unit.commit()).rejects.toThrow('down');
});
