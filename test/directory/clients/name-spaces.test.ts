/** Ids that records of two kinds share, if a write is slow or its outcome is unknown. */
import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { memoryDirectory } from 'tenant-idp/adapters/memory';
import { createLeases } from '../../../adapters/memory/leases.js';
import type { Directory } from '../../../lib/directory/directory.js';
import { IdpError, UnavailableError } from '../../../lib/errors.js';
import type { Row } from '../../../lib/store/directory-store.js';
import { withCollections } from '../../store/with-collections.js';
import { testDirectory } from '../../support/service/test-directory.js';

const ID = '0197a000-0000-7000-8000-00000000005d';
const client = { id: ID, name: 'Client', secret: 'a secret of the client' };
const resource = { id: ID, name: 'Resource', scopes: [] };

/** A connection is a record of an extension, so a variable represents it here. */
const connections = new WeakSet<Directory>();
const holdConnection = (directory: Directory) =>
  directory.idpNames.hold(ID, 'connection', {
    write: async () => void connections.add(directory),
    undo: async () => void connections.delete(directory),
  });

interface Case {
  /** Name of the lease. */
  readonly lease: string;
  readonly kind: string;
  readonly collection: string;
  readonly before?: (directory: Directory) => Promise<unknown>;
  readonly write: (directory: Directory) => Promise<unknown>;
  readonly rival: (directory: Directory) => Promise<unknown>;
  readonly isThere: (directory: Directory) => Promise<boolean>;
}

const TENANT = '0197a000-0000-7000-8000-0000000000a1';
const makeTenant = ({ tenants }: Directory) => tenants.create({ id: TENANT, name: 'Acme' });
const PERSON = '0197a000-0000-7000-8000-0000000000b1';
const makeUser = ({ forTenant }: Directory) =>
  forTenant(TENANT).persons.create({ id: PERSON, givenName: 'Given', familyName: 'Family', user: { id: ID, userName: 'shared' } });

const isTrusted = async ({ clients }: Directory): Promise<boolean> => (await clients.find())[0]?.trustedLoginHint === true;
const cases: Readonly<Record<string, Case>> = {
  'a client beside an API resource': {
    lease: 'authentication',
    kind: 'client',
    collection: 'clients',
    write: ({ clients }) => clients.create(client),
    rival: ({ apiResources }) => apiResources.create(resource),
    isThere: async ({ clients }) => (await clients.find()).length > 0,
  },
  'an API resource beside a client': {
    lease: 'authentication',
    kind: 'apiResource',
    collection: 'apiResources',
    write: ({ apiResources }) => apiResources.create(resource),
    rival: ({ clients }) => clients.create(client),
    isThere: async ({ apiResources }) => (await apiResources.find()).length > 0,
  },
  'a client beside a user': {
    lease: 'authentication',
    kind: 'client',
    collection: 'clients',
    before: makeTenant,
    write: ({ clients }) => clients.create(client),
    rival: makeUser,
    isThere: async ({ clients }) => (await clients.find()).length > 0,
  },
  'a user beside a client': {
    lease: 'authentication',
    kind: 'user',
    collection: 'persons',
    before: makeTenant,
    write: makeUser,
    rival: ({ clients }) => clients.create(client),
    isThere: async ({ forTenant }) => (await forTenant(TENANT).users.get(ID)) !== undefined,
  },
  'a client whose hints are believed beside a connection': {
    lease: 'idp',
    kind: 'client',
    collection: 'clients',
    write: ({ clients }) => clients.create({ ...client, trustedLoginHint: true }),
    rival: holdConnection,
    isThere: isTrusted,
  },
  'a client that is changed to be believed beside a connection': {
    lease: 'idp',
    kind: 'client',
    collection: 'clients',
    before: ({ clients }) => clients.create(client),
    write: ({ clients }) => clients.update(ID, { trustedLoginHint: true }),
    rival: holdConnection,
    isThere: isTrusted,
  },
};

/** Replaces the next write of a collection. */
type Interception = (write: () => Promise<Row | undefined>) => Promise<Row>;

async function scene({ collection, before, lease, kind }: Case) {
  const leases = createLeases();
  let next: Interception | undefined;
  const store = withCollections(memoryDirectory(), (rows, name) => {
    if (name !== collection) return {};
    const written = <R extends Row | undefined>(write: () => Promise<R>): Promise<R> => {
      const intercept = next;
      next = undefined;
      return intercept === undefined ? write() : (intercept(write) as Promise<R>);
    };
    return {
      insert: (row) => written(() => rows.insert(row)),
      update: (id, change) => written(() => rows.update(id, change)),
    };
  });
  const t = await testDirectory({ store, lease: (work, holder = 'node', ms = 1000) => leases.lease(work, holder, ms) });
  await before?.(t.directory);
  // The dispatcher of events writes to the collections too.
  await t.dispatched();
  return {
    directory: t.directory,
    intercept(interception: Interception) {
      next = interception;
    },
    /** Simulates a process that was paused for longer than a name is held. */
    expire: () => leases.lease(`${lease} ${ID}`, kind, 0),
    /** Simulates another kind that had the name in the meantime, and whose record was removed. */
    async lose() {
      await leases.lease(`${lease} ${ID}`, kind, 0);
      await leases.lease(`${lease} ${ID}`, 'rival', 60_000);
    },
    expireRival: async () => {
      for (const one of ['client', 'apiResource', 'user', 'connection']) await leases.lease(`${lease} ${ID}`, one, 0);
    },
    [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
  };
}

const away = () => new UnavailableError('store_unavailable', { store: 'memory' }, { cause: new Error('No answer') });
const codeOf = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'made',
    (error: unknown) => (error instanceof IdpError ? error.code : error),
  );

describe.each(Object.entries(cases))('%s', (_, given) => {
  test('of both at the same time, one gets the id', async () => {
    await using s = await scene(given);
    let rival = 'none';
    s.intercept(async (write) => {
      rival = (await codeOf(given.rival(s.directory))) as string;
      return (await write()) as Row;
    });
    expect([await codeOf(given.write(s.directory)), rival]).toEqual(['made', 'conflict']);
    expect(await given.isThere(s.directory)).toBe(true);
  });

  test('a write that times out keeps the id: the store may make it yet', async () => {
    await using s = await scene(given);
    let late: () => Promise<unknown> = async () => {};
    s.intercept(async (write) => {
      late = write;
      throw away();
    });
    expect(await codeOf(given.write(s.directory))).toBe('store_unavailable');
    expect(await codeOf(given.rival(s.directory))).toBe('conflict');
    await late();
    await s.expire();
    expect([await codeOf(given.rival(s.directory)), await given.isThere(s.directory)]).toEqual(['conflict', true]);
  });

  test.each([
    ['succeeds', 'conflict'],
    ['times out', 'store_unavailable'],
  ])('a write that %s after another kind got the id is taken back', async (outcome, code) => {
    await using s = await scene(given);
    s.intercept(async (write) => {
      await s.expire();
      await given.rival(s.directory);
      const row = await write();
      if (outcome === 'times out') throw away();
      return row as Row;
    });
    expect([await codeOf(given.write(s.directory)), await given.isThere(s.directory)]).toEqual([code, false]);
  });

  test('R9-UNDO: a write that times out takes back no record that was there before', async () => {
    await using s = await scene(given);
    await given.write(s.directory);
    // The time of creation distinguishes records.
    await setTimeout(2);
    s.intercept(async () => {
      await s.lose();
      throw away();
    });
    expect(await codeOf(given.write(s.directory))).toBe('store_unavailable');
    expect(await given.isThere(s.directory)).toBe(true);
  });

  test('an id that was given up is free, except a user’s', async () => {
    await using s = await scene(given);
    await given.write(s.directory);
    if (given.collection === 'persons') await s.directory.forTenant(TENANT).users.remove(ID);
    else await (given.collection === 'clients' ? s.directory.clients : s.directory.apiResources).remove(ID);
    // No other record gets the id of the user.
    expect(await codeOf(given.rival(s.directory))).toBe(given.collection === 'persons' ? 'conflict' : 'made');
  });
});

// This store has no connections.
describe.each(Object.entries(cases).filter(([, { lease }]) => lease === 'authentication'))('%s', (_, given) => {
  test('a write after which another kind has the id is taken back, although its own lease ended too', async () => {
    await using s = await scene(given);
    s.intercept(async (write) => {
      await s.expire();
      await given.rival(s.directory);
      await s.expireRival();
      return (await write()) as Row;
    });
    expect(await codeOf(given.write(s.directory))).not.toBe('made');
    expect(await given.isThere(s.directory)).toBe(false);
  });
});
