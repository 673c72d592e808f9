import { describe, expect, test } from '@jest/globals';
import type { Directory, TenantDirectory } from '../../../lib/directory/index.js';
import { tenantWithUser, testDirectory } from '../../support/service/test-directory.js';

/** Ids of records of one tenant, or of no record. */
interface Ids {
  readonly tid: string;
  readonly personId: string;
  readonly userId: string;
  readonly groupId: string;
  readonly groupName: string;
  readonly subsidiaryId: string;
  readonly invitationId: string;
  readonly userName: string;
  readonly nationalId: string;
}

type Row = (services: TenantDirectory, theirs: Ids, own: Ids) => Promise<unknown>;

/** Expected results of each method with the ids of another tenant. A method without a row here fails the test. */
const walk: Readonly<Record<keyof TenantDirectory, Readonly<Record<string, readonly Row[]>>>> = {
  persons: {
    create: [
      ({ persons }, { subsidiaryId }) => persons.create({ givenName: 'x', familyName: 'x', subsidiaryId }),
      ({ persons }, { groupId }) =>
        persons.create({ givenName: 'x', familyName: 'x', user: { userName: 'x', groups: { ids: [groupId] } } }),
      ({ persons }, { groupName }) =>
        persons.create({ givenName: 'x', familyName: 'x', user: { userName: 'x', groups: { names: [groupName] } } }),
    ],
    get: [({ persons }, { personId }) => persons.get(personId)],
    require: [({ persons }, { personId }) => persons.require(personId)],
    find: [
      ({ persons }, { personId }) => persons.find({ limit: 10, after: personId }).then((rows) => rows.some(({ id }) => id === personId)),
    ],
    list: [
      ({ persons }) => persons.list().then(({ items }) => items.length),
      ({ persons }, { userName }) => persons.list({ userName }),
      ({ persons }) => persons.list({ name: 'given' }).then(({ items }) => items.length),
    ],
    findByNationalId: [({ persons }, { nationalId }) => persons.findByNationalId(nationalId)],
    readNationalId: [({ persons }, { personId }) => persons.readNationalId(personId)],
    update: [
      ({ persons }, { personId }) => persons.update(personId, { givenName: 'changed' }),
      ({ persons }, { subsidiaryId }, { personId }) => persons.update(personId, { subsidiaryId }),
    ],
    updateOwn: [({ persons }, { personId }) => persons.updateOwn(personId, { givenName: 'changed' })],
    export: [({ persons }, { personId }) => persons.export(personId)],
    remove: [({ persons }, { personId }) => persons.remove(personId)],
  },
  users: {
    create: [({ users }, { personId }) => users.create(personId, { userName: 'new' })],
    get: [({ users }, { userId }) => users.get(userId)],
    require: [({ users }, { userId }) => users.require(userId)],
    findByUserName: [({ users }, { userName }) => users.findByUserName(userName)],
    list: [
      ({ users }) => users.list({ status: 'active' }).then(({ items }) => items.length),
      ({ users }, { userName }) => users.list({ userName }),
    ],
    update: [({ users }, { userId }) => users.update(userId, { userName: 'changed' })],
    addIdentity: [({ users }, { userId }) => users.addIdentity(userId, { idp: 'elsewhere', subject: 'somebody' })],
    acknowledgeIdentity: [({ users }, { userId }) => users.acknowledgeIdentity(userId, { idp: 'elsewhere', subject: 'somebody' })],
    removeIdentity: [({ users }, { userId }) => users.removeIdentity(userId, { idp: 'elsewhere', subject: 'somebody' })],
    setGroups: [
      ({ users }, { userId }) => users.setGroups(userId, { ids: [] }),
      ({ users }, { groupId }, { userId }) => users.setGroups(userId, { ids: [groupId] }),
      ({ users }, { groupName }, { userId }) => users.setGroups(userId, { names: [groupName] }),
    ],
    addGroups: [
      ({ users }, { userId }) => users.addGroups(userId, { ids: [] }),
      ({ users }, { groupId }, { userId }) => users.addGroups(userId, { ids: [groupId] }),
    ],
    removeGroups: [
      ({ users }, { userId }) => users.removeGroups(userId, { ids: [] }),
      ({ users }, { groupName }, { userId }) => users.removeGroups(userId, { names: [groupName] }),
    ],
    remove: [({ users }, { userId }) => users.remove(userId)],
    disable: [({ users }, { userId }) => users.disable(userId)],
    activate: [({ users }, { userId }) => users.activate(userId)],
    enable: [({ users }, { userId }) => users.enable(userId)],
    signOutEverywhere: [({ users }, { userId }) => users.signOutEverywhere(userId)],
    signOutOthers: [({ users }, { userId }) => users.signOutOthers(userId, { session: 'a session', cause: 'a factor' })],
  },
  groups: {
    create: [],
    get: [({ groups }, { groupId }) => groups.get(groupId)],
    require: [({ groups }, { groupId }) => groups.require(groupId)],
    list: [({ groups }, { groupName }) => groups.list({ name: groupName })],
    find: [({ groups }) => groups.find().then((rows) => rows.map(({ name }) => name))],
    findByName: [({ groups }, { groupName }) => groups.findByName(groupName)],
    findMany: [
      ({ groups }, { groupId }) => groups.findMany({ ids: [groupId] }),
      ({ groups }, { groupName }) => groups.findMany({ names: [groupName] }),
    ],
    update: [
      ({ groups }, { groupId }) => groups.update(groupId, { name: 'changed' }),
      ({ groups }, { groupId }) => groups.update(groupId, { permissionIds: ['unknown'] }),
    ],
    remove: [({ groups }, { groupId }) => groups.remove(groupId)],
  },
  subsidiaries: {
    create: [],
    get: [({ subsidiaries }, { subsidiaryId }) => subsidiaries.get(subsidiaryId)],
    require: [({ subsidiaries }, { subsidiaryId }) => subsidiaries.require(subsidiaryId)],
    list: [({ subsidiaries }) => subsidiaries.list().then(({ items }) => items.length)],
    find: [({ subsidiaries }) => subsidiaries.find().then((rows) => rows.length)],
    update: [({ subsidiaries }, { subsidiaryId }) => subsidiaries.update(subsidiaryId, { name: 'changed' })],
    remove: [({ subsidiaries }, { subsidiaryId }) => subsidiaries.remove(subsidiaryId)],
  },
  invitations: {
    create: [({ invitations }, { userId }) => invitations.create(userId, { send: false })],
    createPerson: [
      ({ invitations }, { subsidiaryId }) =>
        invitations.createPerson({ givenName: 'x', familyName: 'x', subsidiaryId, user: { userName: 'x' } }, { send: false }),
    ],
    get: [({ invitations }, { invitationId }) => invitations.get(invitationId)],
    require: [({ invitations }, { invitationId }) => invitations.require(invitationId)],
    list: [({ invitations }, { personId, userId }) => Promise.all([{ personId }, { userId }].map((query) => invitations.list(query)))],
    resend: [({ invitations }, { invitationId }) => invitations.resend(invitationId)],
    revoke: [({ invitations }, { invitationId }) => invitations.revoke(invitationId)],
    link: [({ invitations }, { invitationId }) => invitations.link(invitationId)],
    remove: [({ invitations }, { invitationId }) => invitations.remove(invitationId)],
  },
  credentials: { setPassword: [({ credentials }, { userId }) => credentials.setPassword(userId, 'a password that is long enough')] },
  registration: { problems: [], rules: [], prepare: [], complete: [], register: [] },
  linking: {
    link: [
      ({ linking }, { userId }, own) => linking.link(userId, own),
      // The parent may be in any tenant, but only in the tenant that the caller names.
      ({ linking }, { userId }, own) => linking.link(own.userId, { tid: own.tid, userId }),
    ],
    unlink: [
      ({ linking }, { userId }, own) => linking.unlink(userId, own.userId),
      ({ linking }, { userId }, own) => linking.unlink(own.userId, userId),
    ],
  },
};

/** Ids of no record. */
const absent: Ids = {
  tid: '00000000-0000-7000-8000-000000000000',
  personId: '00000000-0000-7000-8000-000000000001',
  userId: '00000000-0000-7000-8000-000000000002',
  groupId: '00000000-0000-7000-8000-000000000003',
  groupName: 'nothing',
  subsidiaryId: '00000000-0000-7000-8000-000000000004',
  invitationId: '00000000-0000-7000-8000-000000000005',
  userName: 'nobody',
  nationalId: 'none',
};

async function furnished(directory: Directory, name: string): Promise<Ids> {
  const userName = `${name}-user`;
  const nationalId = `${name}-id`;
  const ids = await tenantWithUser(directory, name, userName);
  const { groups, subsidiaries, persons, invitations } = directory.forTenant(ids.tid);
  await persons.update(ids.personId, { nationalId });
  const groupName = `${name}-group`;
  const { id: groupId } = await groups.create({ name: groupName });
  const { id: subsidiaryId } = await subsidiaries.create({ name: `${name}-subsidiary` });
  const guest = { givenName: 'G', familyName: 'G', user: { userName: `${name}-guest` } };
  const { id: invitationId } = (await invitations.createPerson(guest, { send: false })).invitation;
  return { ...ids, invitationId, userName, nationalId, groupName, groupId, subsidiaryId };
}

/** Returns the result as the caller sees it: the value, or the whole error. Ids that the caller gave are masked. */
async function outcome(call: Promise<unknown>, given: Ids): Promise<string> {
  const seen = await call.then(
    (value) => ({ value }),
    (error: Error & { code?: string; status?: number; details?: unknown }) => ({
      code: error.code ?? error.stack,
      status: error.status,
      message: error.message,
      details: error.details,
    }),
  );
  return Object.entries(given).reduce((text, [name, id]) => text.replaceAll(id, `<${name}>`), JSON.stringify(seen));
}

describe('tenant isolation (design §3, H1)', () => {
  test('every method of every tenant-bound service is walked', async () => {
    await using t = await testDirectory();
    const services = t.directory.forTenant(absent.tid);
    expect(Object.keys(walk).sort()).toEqual(Object.keys(services).sort());
    for (const [name, service] of Object.entries(services)) {
      expect([name, ...Object.keys(walk[name as keyof TenantDirectory]).sort()]).toEqual([name, ...Object.keys(service).sort()]);
    }
  });

  const rows = Object.entries(walk).flatMap(([service, methods]) =>
    Object.entries(methods).flatMap(([method, calls]) => calls.map((call, index) => ({ name: `${service}.${method}`, index, call }))),
  );

  test.each(rows)('$name ($index) does with a foreign id what it does with an absent one', async ({ call }) => {
    await using t = await testDirectory();
    const own = await furnished(t.directory, 'Acme');
    const foreign = await furnished(t.directory, 'Globex');
    const services = t.directory.forTenant(own.tid);
    const rowsOf = (tid: string) =>
      Promise.all(
        ['persons', 'groups', 'subsidiaries'].map(async (name) =>
          (await t.store.collection(name).find({ byTenant: [tid] })).map((row) => ({ ...row, pendingEvents: [], outbox: '', version: 0 })),
        ),
      );
    const before = await rowsOf(foreign.tid);
    const withAbsent = await outcome(call(services, absent, own), absent);
    const withForeign = await outcome(call(services, foreign, own), foreign);
    expect(withForeign).toBe(withAbsent);
    expect(await rowsOf(foreign.tid)).toEqual(before);
  });

  test('the walk notices: with the own ids each look-up and write does something', async () => {
    await using t = await testDirectory();
    const own = await furnished(t.directory, 'Acme');
    const services = t.directory.forTenant(own.tid);
    expect(await services.persons.get(own.personId)).toBeDefined();
    expect(await services.persons.findByNationalId(own.nationalId)).toBeDefined();
    expect(await services.users.findByUserName(own.userName)).toBeDefined();
    expect(await services.groups.findByName(own.groupName)).toBeDefined();
    expect(await services.subsidiaries.get(own.subsidiaryId)).toBeDefined();
  });

  test('nothing can be created in a tenant that does not exist', async () => {
    await using t = await testDirectory();
    const { persons, groups, subsidiaries } = t.directory.forTenant(absent.tid);
    const refused = { code: 'not_found' };
    await expect(persons.create({ givenName: 'x', familyName: 'x' })).rejects.toMatchObject(refused);
    await expect(groups.create({ name: 'x' })).rejects.toMatchObject(refused);
    await expect(subsidiaries.create({ name: 'x' })).rejects.toMatchObject(refused);
  });
});
