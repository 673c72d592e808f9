/**
 * M17: no read of the library fails because of a damaged row, or of a reference to a missing record. The cases are generated over the
 * services of `idp.directory`, the collections of the store, the members of a row of each, and invalid values.
 */
import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from '@jest/globals';
import { type Account, type Group, IdpError, type PersonWithUser } from 'tenant-idp';
import { badValues, idsOf, type Path, partAt, partsOf, withPart } from '../support/administration/damaged-rows.js';
import { type ListedRecords, type StoredRow, useListedWorld } from '../support/administration/listed-world.js';
import type { Json } from '../support/client/agent.js';

const world = useListedWorld();
let records: ListedRecords;
let doors: readonly Door[] = [];
let stored: readonly Stored[] = [];
/** Ids of all rows, and of users within them. */
const ids = new Set<string>();
/** The person of the records before any damage. */
let sound: PersonWithUser;
beforeAll(async () => {
  await world.root();
  records = await world.fill();
  await enrich();
  doors = await doorsOf();
  stored = await storedRows();
});

/** A method that reads, with arguments. */
interface Door {
  readonly name: string;
  /** @param alice the person of the records, as a host read it */
  args(alice: PersonWithUser): readonly unknown[];
  read(alice: PersonWithUser): Promise<unknown>;
  readonly before: readonly Item[] | undefined;
}
interface Item {
  readonly name: string;
  /** Ids of rows without which the item does not exist: an account needs its tenant, and the account of its parent. */
  readonly rows: readonly unknown[];
}
interface Stored {
  readonly collection: string;
  readonly row: StoredRow;
}

const reads =
  /^(?:list|find|get|peek|require|read|export|of|named|family|subsidiary|groups|candidates|with|dead|pending|head|may)(?![a-z])/;
/** Services that no host calls. Their collections have doors elsewhere. */
const internal = [
  'policies',
  'idpNames',
  'removedUserIds',
  'nationalIds',
  'seedLedger',
  'events',
  'outbox',
  'keyCompletion',
  'tenantRemoval',
];
/** Collections that the service itself writes all the time. */
const written = ['changes', 'upkeep'];

/** Returns arguments of the methods that are neither a look-up by id nor a list. */
function argumentsOf(alice: PersonWithUser, account: Account | undefined, ofGroup: Group): Readonly<Record<string, readonly unknown[]>> {
  const { tid, user, person, group } = records;
  const caller = { ofAllTenants: false, permissionIds: [], administers: (id: string) => id === tid, holds: () => false };
  const groups = { tid, groupIds: [group] };
  const identity = { idp: 'partner', subject: 'alice' };
  return {
    'consents.get': [user, 'web'],
    'consents.find': [user],
    'users.findByUserName': [alice.user.userName],
    'groups.findByName': [ofGroup.name],
    'groups.findMany': [{ ids: [group] }],
    'persons.findByNationalId': ['01017000000'],
    'persons.readNationalId': [person],
    'persons.export': [person],
    'accounts.candidates': [alice.user.userName],
    'accounts.candidatesAmong': [[user], alice.user.userName],
    'accounts.withEmail': [alice.email, undefined],
    'accounts.findByOid': [user],
    'accounts.named': [user],
    'accounts.family': [alice],
    'accounts.ofIdentity': [identity],
    'accounts.subsidiary': [alice],
    'accounts.groups': [alice],
    'privileges.ofGroups': [[ofGroup]],
    'privileges.ofGroupIds': [groups],
    'privileges.of': [alice],
    'privileges.mayBecome': [caller, alice],
    'privileges.mayBecomeAnyone': [caller, tid],
    'privileges.mayTrustHints': [caller],
    'privileges.mayGrant': [caller, groups, alice.user],
    'privileges.mayTake': [caller, groups],
    'privileges.mayTakePermissions': [caller, ofGroup],
    'means.ofSignIn': [{ idp: 'local' }, { ...account, person: alice }],
    'waysIn.of': [{ ...account, person: alice }],
    'signInHistory.list': [{ tid, userId: user }],
    'deliveries.pending': ['batch'],
    'deliveries.dead': [],
    'passwordResets.read': ['token'],
    'emailProofs.read': ['token'],
    'emailProofs.readStop': ['token'],
    'emailProofs.pending': [user],
    'acceptance.read': ['token'],
    'eventFeed.read': [{ limit: 1000 }],
    'eventFeed.head': [],
  };
}

/** Returns the id of a record of a service. */
const idIn = (service: string): string =>
  ({
    ...{ tenants: records.tid, permissions: 'orders.view', clients: 'web', apiResources: 'orders', groups: records.group },
    ...{ subsidiaries: records.subsidiary, persons: records.person, users: records.user, invitations: records.invitation },
  })[service] ?? '';

async function doorsOf(): Promise<readonly Door[]> {
  const { directory } = world.idp;
  const own = directory.forTenant(records.tid);
  sound = await own.users.require(records.user);
  const account = await directory.accounts.findByOid(records.user);
  const group = await own.groups.require(records.group);
  const found: Door[] = [];
  for (const services of [directory, own] as readonly object[])
    for (const [service, methods] of Object.entries(services))
      for (const [method, call] of Object.entries(typeof methods === 'object' ? methods : {})) {
        if (internal.includes(service) || !reads.test(method)) continue;
        const name = `${service}.${method}`;
        const usual: Json = {
          list: [{ limit: 200 }],
          find: [{ limit: 1000 }],
          get: [idIn(service)],
          peek: [idIn(service)],
          require: [idIn(service)],
        };
        const args = (alice: PersonWithUser) => {
          const all = argumentsOf(alice, account, group)[name] ?? usual[method];
          if (!all) throw new Error(`${name} has no arguments here.`);
          return all;
        };
        const read = async (alice: PersonWithUser) => (call as (...all: unknown[]) => unknown)(...args(alice));
        const before = itemsOf(await read(sound));
        // All sign-ins of a user are in one row, and so is the password.
        const rows = ['signInHistory.list', 'waysIn.of'].includes(name) ? [records.user] : [];
        found.push({ name, args, read, before: before?.map((item) => ({ ...item, rows: [...item.rows, ...rows] })) });
      }
  return found;
}

/** Adds members that no list needs, for more references and look-ups. */
async function enrich(): Promise<void> {
  const { directory } = world.idp;
  const { persons, users } = directory.forTenant(records.tid);
  await persons.update(records.person, { nationalId: '01017000000', secondEmail: 'alice@home.test', externalId: 'a1' });
  await directory.forTenant(records.tid).groups.update(records.group, { permissionIds: ['orders.view'] });
  await directory.clients.update('web', { allowedTenants: [records.tid] });
  await users.addIdentity(records.user, { idp: 'partner', subject: 'alice' });
  await directory.consents.allow(records.user, 'web', ['openid']);
}

/** Returns a row of each collection, and a linked account of persons. */
async function storedRows(): Promise<readonly Stored[]> {
  const known = JSON.stringify(records);
  const found: Stored[] = [];
  for (const collection of new Set(world.collections)) {
    if (written.includes(collection)) continue;
    const rows = await world.directory.collection<StoredRow>(collection).find({});
    const row = rows.find((one) => idsOf(one).some((id) => known.includes(`"${id}"`))) ?? rows[0];
    if (row) found.push({ collection, row });
    for (const one of rows) for (const id of idsOf(one)) ids.add(id);
    const child = rows.find(({ user }) => (user as StoredRow | undefined)?.parentUserId === records.user);
    if (child) found.push({ collection, row: child });
  }
  return found;
}

/** Returns the items of a list; undefined for a result that is no list. */
function itemsOf(answer: unknown): readonly Item[] | undefined {
  const { items, events } = (answer ?? {}) as Json;
  const list = Array.isArray(answer) ? answer : (items ?? events);
  return list?.map((item: Json) => {
    const { person, tenant, owner } = item ?? {};
    const name = String(item?.sequence ?? person?.id ?? item?.id ?? JSON.stringify(item));
    return { name, rows: [name, tenant?.id, owner?.person.id, owner?.tenant.id] };
  });
}

/** Makes the caches forget a row of a collection that has caches, so that the next read of the row reads the store. */
async function clearCaches(collection: string, id: string): Promise<void> {
  const { directory } = world.idp;
  const own = directory.forTenant(records.tid);
  const patch = { name: 'Forgotten' };
  const forgetting: Readonly<Record<string, () => Promise<unknown>>> = {
    tenants: () => directory.tenants.update(id, patch),
    permissions: () => directory.permissions.update(id, patch),
    clients: () => directory.clients.update(id, patch),
    apiResources: () => directory.apiResources.update(id, patch),
    groups: () => own.groups.update(id, patch),
    subsidiaries: () => own.subsidiaries.update(id, patch),
    persons: () => own.persons.update(id, { givenName: 'Forgotten' }),
  };
  const forget = forgetting[collection];
  if (forget) await world.forget(forget);
}

/** Reads while the row has another value at the path. Returns undefined if the store refuses the row. */
async function damaged<Seen>(
  { collection, row }: Stored,
  path: Path,
  value: unknown,
  look: (row: StoredRow) => Promise<Seen>,
): Promise<Seen | undefined> {
  const rows = world.directory.collection<StoredRow>(collection);
  const other = withPart(row, path, value) as StoredRow;
  try {
    await rows.put(other);
  } catch {
    return undefined;
  }
  await clearCaches(collection, row.id);
  try {
    return await look(other);
  } finally {
    await rows.put(row);
    await clearCaches(collection, row.id);
  }
}

/** Returns the fault of a read while rows with these ids are damaged or removed. */
async function faultOf({ name, args, read, before }: Door, gone: readonly unknown[], alice: PersonWithUser): Promise<string | undefined> {
  try {
    const shown = itemsOf(await read(alice))?.map((item) => item.name);
    const others = before?.filter(({ rows }) => !rows.some((id) => gone.includes(id))) ?? [];
    return others.every((item) => shown?.includes(item.name)) ? undefined : `${name}: other items are missing`;
  } catch (error) {
    const isMeant = gone.some((id) => JSON.stringify(args(alice)).includes(`"${id}"`));
    return IdpError.is(error, 'not_found', 'record_unreadable') && isMeant ? undefined : `${name}: ${error}`;
  }
}

async function faultsWith(of: Stored, path: Path, value: unknown, isReference = false): Promise<readonly string[] | undefined> {
  return damaged(of, path, value, async (row) => {
    // No method reads a person of a tenant that does not exist.
    const isRead = isReference && row.id === sound.id && path[0] !== 'tid';
    const alice = isRead ? (row as unknown as PersonWithUser) : sound;
    const gone = [...idsOf(of.row), ...(isRead ? [partAt(of.row, path)] : [])];
    const faults: string[] = [];
    for (const door of doors) {
      const fault = await faultOf(door, gone, alice);
      if (fault !== undefined) faults.push(`${of.collection} /${path.join('/')} ${String(value).slice(0, 9)}: ${fault}`);
    }
    return faults;
  });
}

test('the doors are found, and each list has items', () => {
  expect(doors.length).toBeGreaterThan(60);
  const lists = doors.filter(({ name }) => /\.(?:list|find|findMany|candidates|family|groups)$/.test(name));
  expect(lists.filter(({ before }) => !before?.length).map(({ name }) => name)).toEqual([]);
  expect(lists.length).toBeGreaterThan(15);
});

test('M17: each member of a row of each collection with each bad value: each read of the library answers, and lists have all others', async () => {
  const faults: string[] = [];
  const tried = new Map<string, number>();
  for (const of of stored) {
    tried.set(of.collection, 0);
    for (const path of partsOf(of.row))
      for (const value of badValues) {
        const found = await faultsWith(of, path, value);
        if (found) tried.set(of.collection, (tried.get(of.collection) ?? 0) + 1);
        faults.push(...(found ?? []));
      }
  }
  expect(faults).toEqual([]);
  expect([...tried].filter(([, times]) => times < 3)).toEqual([]);
});

test('M17: each reference of a row leads nowhere: each read of the library answers, and lists have all others', async () => {
  const faults: string[] = [];
  let tried = 0;
  for (const of of stored)
    for (const path of partsOf(of.row)) {
      const value = partAt(of.row, path);
      if (typeof value !== 'string' || !ids.has(value) || path.join('/') === 'user/id') continue;
      tried += 1;
      faults.push(...((await faultsWith(of, path, randomUUID(), true)) ?? []));
    }
  expect(faults).toEqual([]);
  expect(tried).toBeGreaterThan(15);
});
