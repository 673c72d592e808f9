/**
 * A tenant of a seed with everything that belongs to it: subsidiaries, groups, persons, their users, and the account links between users.
 */
import { IdpError } from '../../errors.js';
import { personDefaults } from '../../store/records/persons.js';
import type { Group, Person, Subsidiary, Tenant, User } from '../../store/records/records.js';
import type { ParentRef } from '../accounts/linking.js';
import type { Directory } from '../directory.js';
import { userNameKey } from '../identifiers.js';
import { defined } from '../input.js';
import { withBlankNames } from '../persons/persons.js';
import { newUserDefaults } from '../persons/user-record.js';
import type { SeedIds } from './ids.js';
import type { SeedPiece, SeedRun } from './run.js';
import type { SeedPerson, SeedTenant, SeedUser } from './schema.js';

/** The parts of one application of a seed. */
export interface Parts {
  readonly directory: Directory;
  readonly run: SeedRun;
  readonly ids: SeedIds;
  readonly tenants: readonly SeedTenant[];
}

export async function applyTenant(parts: Parts, tenant: SeedTenant): Promise<void> {
  const { directory, run, ids } = parts;
  const { subsidiaries = [], groups = [], persons = [], id: _, ...fields } = tenant;
  const tid = ids.tenant(tenant);
  const made = await run.apply<Tenant>({
    collection: 'tenants',
    id: tid,
    fields,
    find: () => directory.seedLedger.record('tenants', tid),
    create: () => directory.tenants.create({ ...fields, id: tid }).catch(unlessMethodIsMissing),
    update: (_id, patch) => directory.tenants.update(tid, patch).catch(unlessMethodIsMissing),
  });
  if (made === undefined) return;
  for (const subsidiary of subsidiaries) await run.apply(subsidiaryPiece(parts, tid, subsidiary));
  for (const group of groups) await run.apply(await groupPiece(parts, tid, group));
  for (const person of persons) await applyPerson(parts, tenant, person);
}

type InTenant<Name extends 'subsidiaries' | 'groups' | 'persons'> = NonNullable<SeedTenant[Name]>[number];

/** Returns the record, unless it belongs to another tenant. */
const ofTenant = async <R extends { readonly tid: string }>(tid: string, lookup: Promise<R | undefined>): Promise<R | undefined> => {
  const record = await lookup;
  return record?.tid === tid ? record : undefined;
};

function subsidiaryPiece({ directory, ids }: Parts, tid: string, subsidiary: InTenant<'subsidiaries'>): SeedPiece<Subsidiary> {
  const { subsidiaries } = directory.forTenant(tid);
  const id = ids.subsidiary(tid, subsidiary);
  const { id: given, ...fields } = subsidiary;
  const isDerived = given === undefined;
  return {
    collection: 'subsidiaries',
    id,
    isDerived,
    fields,
    find: async (recordId = isDerived ? undefined : id) =>
      recordId === undefined ? undefined : ofTenant(tid, directory.seedLedger.record<Subsidiary>('subsidiaries', recordId)),
    create: (recordId) => subsidiaries.create({ ...fields, id: recordId }),
    update: (recordId, patch) => subsidiaries.update(recordId, patch),
  };
}

async function groupPiece({ directory, run, ids }: Parts, tid: string, group: InTenant<'groups'>): Promise<SeedPiece<Group>> {
  const { groups } = directory.forTenant(tid);
  const id = ids.group(tid, group);
  const { name, permissions } = group;
  const existingPermissions = permissions && (await existing(permissions, (permission) => directory.permissions.get(permission)));
  const fields = { name, ...(existingPermissions && { permissionIds: existingPermissions.map((permission) => permission.id) }) };
  const get = (groupId: string) => ofTenant(tid, directory.seedLedger.record<Group>('groups', groupId));
  return {
    collection: 'groups',
    id,
    isDerived: group.id === undefined,
    fields,
    find: async (recordId) => (recordId === undefined && group.id === undefined ? groups.findByName(name) : get(recordId ?? id)),
    create: (recordId) => groups.create({ ...fields, id: recordId }),
    async update(recordId, { permissionIds, ...patch }, isMade) {
      if (permissionIds === undefined) return groups.update(recordId, patch);
      const wanted = permissionIds as readonly string[];
      const { permissionIds: before } = await groups.require(recordId);
      const added = { tid, permissionIds: wanted.filter((one) => !before.includes(one)) };
      const privileges = directory.privileges.ofGroups([added]).flatMap(({ permissionId }) => permissionId ?? []);
      // An administrator without the permission may have added the members.
      const isGiven = privileges.length === 0 || (isMade && !(await directory.seedLedger.hasMembersOfOthers(recordId)));
      const refused = isGiven ? [] : privileges;
      for (const item of refused) run.withhold('groups', id, `permission ${item}`, isMade ? { field: 'permissionIds', item } : undefined);
      return groups.update(recordId, { ...patch, permissionIds: wanted.filter((one) => !refused.includes(one)) });
    },
  };
}

async function applyPerson(parts: Parts, tenant: SeedTenant, person: SeedPerson): Promise<void> {
  const { directory, run, ids } = parts;
  const tid = ids.tenant(tenant);
  const { persons, users } = directory.forTenant(tid);
  const id = ids.person(tid, person);
  const { id: given, user, subsidiary: name, nationalId, ...plain } = person;
  const subsidiary = tenant.subsidiaries?.find((one) => one.name === name);
  const subsidiaryId = subsidiary && run.recordId('subsidiaries', ids.subsidiary(tid, subsidiary));
  const fields = { ...defined(withBlankNames(plain, undefined)), ...(subsidiaryId !== undefined && { subsidiaryId }) };
  const get = (personId: string) => ofTenant(tid, directory.seedLedger.record<Person>('persons', personId));
  const made = await run.apply<Person>({
    collection: 'persons',
    id,
    isDerived: given === undefined,
    fields,
    defaults: personDefaults,
    find: async (recordId) => {
      if (recordId !== undefined || given !== undefined) return get(recordId ?? id);
      return user && users.findByUserName(user.userName);
    },
    create: (recordId) => persons.create({ ...fields, ...(nationalId !== undefined && { nationalId }), id: recordId }, 'seed'),
    update: (recordId, patch) => persons.update(recordId, patch),
    ...(nationalId !== undefined && {
      apart: {
        field: 'nationalId',
        digest: async ({ nationalIdHash }) => nationalIdHash,
        isEqual: async (row) => (await persons.findByNationalId(nationalId))?.id === row.id,
        seedDigest: async ({ nationalIdHash }) => nationalIdHash,
        set: (row) => persons.update(row.id, { nationalId }),
      },
    }),
  });
  if (made === undefined || user === undefined) return;
  // If another actor created the person, the seed adds no user. Otherwise mailed links for the user would go to an address that the other actor wrote.
  if (made.user || run.isMade('persons', id)) await applyUser(parts, tenant, made.id, user);
}

async function applyUser(parts: Parts, tenant: SeedTenant, personId: string, user: SeedUser): Promise<void> {
  const { directory, run, ids } = parts;
  const { credentials, privileges, seedLedger } = directory;
  const tid = ids.tenant(tenant);
  const { groups, users } = directory.forTenant(tid);
  const { id: _, linkedTo, devPassword, groups: names, status: said, ...given } = user;
  // A user with a password or a parent account should be able to sign in. After the creation, administrators decide the status.
  const status = said ?? (devPassword === undefined && linkedTo === undefined ? 'invited' : 'active');
  const fields = { ...given, userName: user.userName.trim() };
  const id = ids.user(tid, user);
  const groupIds = names && (await existing(names, groupNamed)).map((group) => group.id);
  const link = linkedTo && linkOf(parts, linkedTo);

  async function groupNamed(name: string): Promise<Group | undefined> {
    const ofSeed = tenant.groups?.find((group) => group.name === name);
    const entryId = ofSeed && ids.group(tid, ofSeed);
    const groupId = entryId && run.recordId('groups', entryId);
    const group = ofSeed ? groupId && (await groups.get(groupId)) : await groups.findByName(name);
    if (!group) return undefined;
    // If another actor created the group, its administrators decide about its members.
    if (entryId && run.isMade('groups', entryId)) return group;
    run.withhold('users', id, `group ${name}`);
    return undefined;
  }
  /** Returns whether a user of the seed may get the group. A user that another actor created gets no privileges from a seed. */
  async function mayGet(groupId: string): Promise<boolean> {
    if ((await privileges.ofGroupIds({ tid, groupIds: [groupId] })).length === 0) return true;
    run.withhold('users', id, `group ${groupId}`);
    return false;
  }

  await run.apply<User>({
    collection: 'users',
    id,
    fields: { ...fields, ...(groupIds && { groupIds }) },
    defaults: newUserDefaults,
    async find(recordId) {
      const row = await seedLedger.record<Person>('persons', personId);
      if (row?.tid !== tid || !row.user || (recordId !== undefined && row.user.id !== recordId)) return undefined;
      // A seed cannot state vouchers, so vouchers are not compared.
      return { ...row.user, externalIdentities: row.user.externalIdentities.map(({ idp, subject }) => ({ idp, subject })) };
    },
    create: () => users.create(personId, { ...fields, id, status, ...(groupIds && { groups: { ids: groupIds } }) }),
    async update(oid, { groupIds: ofUser, ...patch }, isMade) {
      if (Object.keys(patch).length > 0) await users.update(oid, patch);
      if (!ofUser) return;
      const before = (await users.require(oid)).user.groupIds;
      const isGiven = async (one: string) => isMade || before.includes(one) || mayGet(one);
      const given = await Promise.all((ofUser as readonly string[]).map(async (one) => ((await isGiven(one)) ? [one] : [])));
      await users.setGroups(oid, { ids: given.flat() });
    },
    ...(link && { later: [link.item] }),
    ...(devPassword !== undefined && {
      apart: {
        field: 'devPassword',
        isMadeApart: true,
        digest: ({ id }) => credentials.passwordDigest(id),
        seedDigest: ({ id }) => credentials.passwordDigest(id),
        isEqual: ({ id }) => credentials.hasPassword(id, devPassword),
        set: ({ id }) => credentials.seedPassword(id, devPassword),
      },
    }),
  });
}

/** Returns the records of the names. A name whose record was removed concurrently is left out. */
async function existing<R>(names: readonly string[], find: (name: string) => Promise<R | undefined>): Promise<R[]> {
  return (await Promise.all(names.map(find))).flatMap((record) => record ?? []);
}

/** Returns the parent account that the seed links a user to. */
function linkOf({ directory, run, ids, tenants }: Parts, { userName, tenant: name }: NonNullable<SeedUser['linkedTo']>) {
  const tenant = tenants.find((one) => one.name === name);
  if (tenant === undefined) return undefined;
  const tid = ids.tenant(tenant);
  const ofSeed = tenant.persons?.find(({ user }) => user && userNameKey(user.userName) === userNameKey(userName))?.user;
  const id = ids.user(tid, ofSeed ?? { userName });
  return {
    item: { field: 'linkedTo', item: id, isInSeed: true },
    async parent(): Promise<ParentRef | undefined> {
      const userId = ofSeed ? run.recordId('users', id) : (await directory.forTenant(tid).users.findByUserName(userName))?.user.id;
      return userId === undefined ? undefined : { tid, userId };
    },
  };
}

/** Links users to their parent accounts. Call the function after all tenants of the seed are applied. */
export async function applyLinks(parts: Parts, tenant: SeedTenant): Promise<void> {
  const { directory, run, ids } = parts;
  const tid = ids.tenant(tenant);
  const { linking } = directory.forTenant(tid);
  for (const { user } of tenant.persons ?? []) {
    const link = user?.linkedTo && linkOf(parts, user.linkedTo);
    const userId = user && run.recordId('users', ids.user(tid, user));
    if (user === undefined || link === undefined || userId === undefined) continue;
    const parent = await link.parent();
    if (parent === undefined) continue;
    await run.once('users', ids.user(tid, user), link.item, () => linking.link(userId, parent).then(() => true, unlessLinked));
  }
}

/** Returns false if the account link is prevented by account links of another actor, by a privilege, or by the policy of a tenant. */
function unlessLinked(error: unknown): false {
  if (IdpError.is(error, 'already_linked', 'link_chain', 'link_same_tenant', 'link_not_allowed', 'link_privileged')) return false;
  throw error;
}

/**
 * Fails if a sign-in method of the seed is missing, because another actor took the id of its record. Without the method, the policy would
 * be different.
 */
function unlessMethodIsMissing(error: unknown): never {
  const isMethod = IdpError.is(error, 'invalid_record') && String(error.details.path).startsWith('/signIn/methods/');
  throw isMethod ? new IdpError('conflict', { path: error.details.path }, { cause: error }) : error;
}
