/** A directory over the memory store, for tests. */
import { memoryDirectory } from '../../../adapters/memory/index.js';
import { createLeases } from '../../../adapters/memory/leases.js';
import { createDirectory, type Directory, type DirectoryOptions, type Passwords } from '../../../lib/directory/index.js';
import type { IdpEvent } from '../../../lib/events.js';
import { createCaches } from '../../../lib/store/caches/cache.js';
import type { DirectoryStore } from '../../../lib/store/directory-store.js';
import { createCheckedDirectory } from '../../../lib/store/records/checked-directory.js';
import { collections, outboxes } from '../../../lib/store/records/collections.js';
import type { EventRecord } from '../../../lib/store/records/records.js';
import { createSealer } from '../../../lib/store/sealer.js';
import { until } from '../time/until.js';

export const ISSUER = 'https://login.example.com';

/** Milliseconds between two reads of an outbox in memory, which is done in a few milliseconds. */
const PAUSE_MS = 2;

/** Returns a hasher that costs nothing, and counts its hashes. */
export function cheapHasher(): Passwords & { count: number } {
  return {
    count: 0,
    async hash(password) {
      this.count += 1;
      return `cheap:${password}`;
    },
    async verify(phcs, password) {
      this.count += phcs.length;
      return phcs.map((phc) => phc === `cheap:${password}` || phc === `old:${password}`);
    },
    isOutdated: (phc) => phc.startsWith('old:'),
  };
}

export const silentLogger = { debug() {}, info() {}, warn() {}, error() {} };

export type Dispatched = EventRecord & { readonly sequence: string };

export interface TestDirectory extends AsyncDisposable {
  readonly directory: Directory;
  readonly store: DirectoryStore;
  /** Waits until all pending events are dispatched, and returns all dispatched events, in order. */
  dispatched(): Promise<readonly Dispatched[]>;
  /** Returns dispatched events of persons and users. */
  dispatchedOfPersons(): Promise<readonly Dispatched[]>;
}

export async function testDirectory(
  options: Partial<Omit<DirectoryOptions, 'store'>> & { readonly store?: DirectoryStore } & {
    readonly listen?: (event: IdpEvent) => void;
  } = {},
): Promise<TestDirectory> {
  const store = options.store ?? memoryDirectory();
  await store.open(Object.values(collections));
  const checked = createCheckedDirectory(store, { logger: silentLogger, now: Date.now });
  const leases = createLeases();
  const caches = createCaches(checked, { now: Date.now, logger: silentLogger });
  const directory = createDirectory({
    caches,
    sealer: createSealer(['first-secret-of-the-tests']),
    hasher: cheapHasher(),
    lease: (work, holder = 'node', ms = 1000) => leases.lease(work, holder, ms),
    logger: silentLogger,
    issuer: ISSUER,
    identityScopes: new Set(['openid', 'offline_access', 'profile', 'email', 'org']),
    ...options,
    store: checked,
  });
  directory.outbox.start();
  const dispatched = async (): Promise<readonly Dispatched[]> => {
    const pending = async () =>
      (await Promise.all(outboxes.map((name) => store.collection(name).find({ byOutbox: ['yes'] }, { limit: 1 })))).flat();
    await until(pending, ({ length }) => length === 0, PAUSE_MS);
    const rows = await store.collection<EventRecord>('events').find({});
    return rows.map((row) => ({ ...row, sequence: row.id, id: row.eventId }));
  };
  return {
    directory,
    store,
    dispatched,
    dispatchedOfPersons: async () => (await dispatched()).filter(({ type }) => /^(Person|User)/.test(type)),
    async [Symbol.asyncDispose]() {
      await directory.close();
      await caches.close();
    },
  };
}

/** Creates a tenant with a user of this name, and returns the ids of the tenant, the person and the user. */
export async function tenantWithUser(directory: Directory, tenantName: string, userName: string) {
  const { id: tid } = await directory.tenants.create({ name: tenantName });
  return { tid, ...(await userIn(directory, tid, userName)) };
}

export async function userIn(directory: Directory, tid: string, userName: string) {
  const person = await directory
    .forTenant(tid)
    .persons.create({ givenName: 'Given', familyName: 'Family', user: { userName, status: 'active' } });
  return { personId: person.id, userId: person.user!.id };
}

/** Returns the code of the error that rejects the promise; undefined if the promise is fulfilled. */
export const codeOf = (promise: Promise<unknown>): Promise<string | undefined> =>
  promise.then(
    () => undefined,
    (error: unknown) => (error as { code?: string }).code ?? String(error),
  );
