import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { createIdentityProvider } from 'tenant-idp';
import { memoryArtifacts, memoryDirectory } from 'tenant-idp/adapters/memory';
import { IdpError } from '../../lib/errors.js';
import { hashedKey } from '../../lib/store/artifact-key.js';
import type { ArtifactStore } from '../../lib/store/artifact-store.js';
import type { DirectoryStore, Row } from '../../lib/store/directory-store.js';
import { CallTimeouts } from '../../lib/store/outages/call-timeouts.js';
import { createReachableArtifacts, createReachableDirectory } from '../../lib/store/outages/reachable.js';
import { testKeys } from '../support/service/keys.js';
import { testSeed } from '../support/service/seed.js';
import { silentLogger } from '../support/service/test-directory.js';
import { testTogether } from '../support/service/test-together.js';
import { failingStores } from '../support/stores/failing-stores.js';
import { IN_TIME } from '../support/time/in-time.js';

const key = hashedKey('Test', 'a');
const timed = async <T>(work: Promise<T>) => {
  const since = performance.now();
  const outcome = await work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error: error as IdpError & { cause: Error } }),
  );
  return { ...outcome, milliseconds: performance.now() - since };
};
/** Stores that a test has used. An unavailable store is retried until it is closed. */
const begun: (ArtifactStore | DirectoryStore)[] = [];
afterEach(() => Promise.all(begun.splice(0).map((store) => store.close())));

function reachableArtifacts(store: ArtifactStore, callTimeouts = new CallTimeouts()): ArtifactStore {
  const reachable = createReachableArtifacts(store, callTimeouts, silentLogger);
  begun.push(reachable);
  return reachable;
}

function reachableDirectory(store: DirectoryStore, callTimeouts = new CallTimeouts()): DirectoryStore {
  const reachable = createReachableDirectory(store, callTimeouts, silentLogger);
  begun.push(reachable);
  return reachable;
}

/** Returns a store whose reads the test answers. */
function answeredByHand() {
  const answers: (() => void)[] = [];
  const memory = memoryArtifacts();
  const store: ArtifactStore = {
    ...memory,
    read: (requests) => new Promise((resolve) => answers.push(() => resolve(memory.read(requests)))),
  };
  return { answers, store };
}

test('a call that is not answered is an outage of that store, in time', async () => {
  const { store } = answeredByHand();
  const { error, milliseconds } = (await timed(reachableArtifacts({ ...store, name: 'own' }).read([{ key }]))) as {
    error: IdpError & { cause: Error };
    milliseconds: number;
  };
  expect(error).toMatchObject({ code: 'store_unavailable', details: { store: 'own' }, cause: { name: 'TimeoutError' } });
  expect(milliseconds).toBeLessThan(IN_TIME);
});

test('of two stores that hang, the second is not waited for as long; a request that asks both is answered in time', async () => {
  const callTimeouts = new CallTimeouts();
  const { artifacts, directory, down } = failingStores();
  const [first, second] = [reachableArtifacts(artifacts, callTimeouts), reachableDirectory(directory, callTimeouts)];
  Object.assign(down, { hang: true, artifacts: true, directory: true });
  const { milliseconds } = await timed(
    first
      .read([{ key }])
      .catch(() => second.collection('persons').get('x'))
      .catch(() => second.collection('persons').get('x')),
  );
  expect(milliseconds).toBeLessThan(IN_TIME);
});

test('a store that answers reads while its writes hang is not waited for as long at the second write of a request', async () => {
  const { artifacts, down, recover } = failingStores();
  const reachable = reachableArtifacts(artifacts);
  const write = () => reachable.commit([{ op: 'put', key, value: '', expiresAt: Date.now() + 60_000 }]).catch((error: unknown) => error);
  const read = () => reachable.read([{ key }]);
  await write();
  Object.assign(down, { hang: true, writes: true });
  expect(await write()).toMatchObject({ cause: { message: 'No answer after 1000 ms' } });
  await read();
  expect(await write()).toMatchObject({ cause: { message: 'No answer after 250 ms' } });
  recover();
  await write();
  Object.assign(down, { hang: true, writes: true });
  expect(await write()).toMatchObject({ cause: { message: 'No answer after 1000 ms' } });
});

test('an answer ends the doubt, however late: the next call has its full time again', async () => {
  const { answers, store } = answeredByHand();
  const reachable = reachableArtifacts(store);
  expect(await timed(reachable.read([{ key }]))).toHaveProperty('error');
  answers.pop()?.();
  await pause(10);
  // The read lasts longer than an unavailable store may take.
  const reading = timed(reachable.read([{ key }]));
  await pause(400);
  answers.pop()?.();
  expect(await reading).toHaveProperty('value');
});

test('what a store or a change says on purpose passes as it is; what goes wrong does not', async () => {
  const memory = memoryDirectory();
  await memory.open([{ name: 'rows', indexes: {} }]);
  const rows = reachableDirectory(memory).collection<Row & { n: number }>('rows');
  await rows.insert({ id: 'a', n: 1 });
  await expect(rows.insert({ id: 'a', n: 1 })).rejects.toMatchObject({ code: 'conflict' });
  const reason = new RangeError('refused');
  const refuse = () => {
    throw reason;
  };
  await expect(rows.update('a', refuse)).rejects.toBe(reason);
  await expect(rows.update('a', () => refuse())).rejects.toBe(reason);
  await expect(rows.put({ id: 'a', n: (() => 1) as never })).rejects.toMatchObject({ code: 'store_unavailable' });
});

const options = (stores: { artifacts?: ArtifactStore; directory?: ReturnType<typeof memoryDirectory> }) => ({
  issuer: 'http://localhost:3000',
  keys: { signing: testKeys },
  subjectSalt: 'salt of the test tenant identities',
  seed: testSeed,
  logger: { ...silentLogger },
  ...stores,
});

for (const [which, hang] of [
  ['artifacts', false] as const,
  ['artifacts', true] as const,
  ['directory', false] as const,
  ['directory', true] as const,
])
  testTogether(`a service whose ${which} are away${hang ? ' and do not say so' : ''} does not start: it says which store`, async () => {
    const { down, artifacts, directory } = failingStores();
    const stores = { artifacts, directory };
    Object.assign(down, { hang, [which]: true });
    const store = { ...stores[which], name: `own ${which}` };
    const { error, milliseconds } = (await timed(createIdentityProvider(options({ ...stores, [which]: store })))) as {
      error: IdpError & { cause: Error };
      milliseconds: number;
    };
    expect(error).toBeInstanceOf(IdpError);
    expect(error).toMatchObject({ code: 'store_unavailable', details: { store: `own ${which}` } });
    expect(error.message).toContain(`'own ${which}'`);
    expect(error.message).not.toMatch(/hunter2|10\.1\.2\.3/);
    expect(milliseconds).toBeLessThan(5_000 + IN_TIME);
  });

testTogether('one that goes away while the seed is applied ends the start, and leaves nothing running', async () => {
  const { artifacts, directory, down } = failingStores();
  let calls = 0;
  const starting = createIdentityProvider(
    options({
      artifacts: {
        ...artifacts,
        lease: (...call) => {
          calls += 1;
          return artifacts.lease(...call);
        },
      },
      directory: {
        ...directory,
        async open(specs) {
          await directory.open(specs);
          down.directoryWrites = true;
        },
      },
    }),
  );
  await expect(starting).rejects.toMatchObject({ code: 'store_unavailable', details: { store: 'failing' } });
  const before = calls;
  await pause(1300);
  expect(calls).toBe(before);
});

testTogether('a store that takes long to open and says that it is well is waited for', async () => {
  const memory = memoryArtifacts();
  const idp = await createIdentityProvider(options({ artifacts: { ...memory, open: () => pause(4500) } }));
  expect(await idp.health()).toMatchObject({ status: 'up' });
  await idp.close();
});
