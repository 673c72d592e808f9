/**
 * Seeds: records that a host declares, brought about at the start.
 *
 * `schema` and `problems` refuse a seed that is wrong before anything is written. The ledger remembers what seeds made, so that a seed that comes again
 * changes nothing that was changed or removed meanwhile (`changes`, `run`).
 */
import { IdpError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import type { ApiResource, Client, Group, Permission, Person, Subsidiary, Tenant, User } from '../../store/records.js';
import type { ParentRef } from '../accounts/linking.js';
import type { Directory } from '../create-directory.js';
import { hashedSecret, isLiveSecret } from '../credentials/secrets.js';
import { userNameKey } from '../identifiers.js';
import { type SeedIds, seedIds } from './ids.js';
import { checkSeedReferences } from './references.js';
import { createSeedRun, type SeedPart, type SeedPiece, type SeedRun } from './run.js';
import { checkSeedForm, type Seed, type SeedPerson, type SeedTenant, type SeedUser } from './schema.js';
import { scopesThatMean } from './scopes.js';

export type { Seed } from './schema.js';

/**
 * Makes the records of the seed that no seed made before, and changes what a seed made and nobody touched since (`seed.mode`). It removes no record,
 * and brings nothing back that was taken away. Safe to run again, and on many nodes at once. Without a seed it begins the account of what seeds
 * do, so that a later one knows that nothing was there.
 * @throws ConfigError, before anything is written, with the path of every value that is wrong.
 */
export async function applySeed(directory: Directory, seed: Seed | undefined, logger: Logger): Promise<void> {
  if (seed !== undefined) checkSeedForm(seed);
  await directory.seedLedger.begin();
  if (seed === undefined) return;
  const ids = seedIds(directory.issuer);
  await checkSeedReferences(directory, seed, ids);
  const { tenants = [], permissions = [], clients = [], apiResources = [], mode = 'update' } = seed;
  const run = await createSeedRun(directory.seedLedger, mode);
  const parts: Parts = { directory, run, ids, tenants };

  for (const permission of permissions) await run.apply(permissionPiece(parts, permission));
  for (const tenant of tenants) await applyTenant(parts, tenant);
  for (const apiResource of apiResources) await run.apply(apiResourcePiece(parts, apiResource));
  const scopes = await directory.existingScopes();
  for (const client of clients) await run.apply(clientPiece(parts, await withScopesThatMean(parts, client, scopes)));
  for (const tenant of tenants) await applyLinks(parts, tenant);
  await directory.seedLedger.settle();
  run.tell(logger);
}

interface Parts {
  readonly directory: Directory;
  readonly run: SeedRun;
  readonly ids: SeedIds;
  readonly tenants: readonly SeedTenant[];
}

function permissionPiece({ directory }: Parts, { id, ...fields }: NonNullable<Seed['permissions']>[number]): SeedPiece<Permission> {
  const { permissions, seedLedger } = directory;
  return {
    collection: 'permissions',
    id,
    fields,
    find: () => seedLedger.record('permissions', id),
    create: () => permissions.create({ ...fields, id }),
    update: (_, patch) => permissions.update(id, patch),
  };
}

function apiResourcePiece(parts: Parts, { id, secret, ...given }: NonNullable<Seed['apiResources']>[number]): SeedPiece<ApiResource> {
  const { apiResources, seedLedger } = parts.directory;
  const fields = withTenantIds(parts, given);
  return {
    collection: 'apiResources',
    id,
    fields,
    find: () => seedLedger.record('apiResources', id),
    create: () => apiResources.create({ ...fields, id, ...(secret !== undefined && { secret }) }),
    update: (_, patch) => apiResources.update(id, patch),
    ...(secret !== undefined && { apart: secretOf(secret, async () => (await apiResources.rotateSecret(id, secret)).apiResource) }),
  };
}

function clientPiece(parts: Parts, { id, secret, ...given }: NonNullable<Seed['clients']>[number]): SeedPiece<Client> {
  const { clients, seedLedger } = parts.directory;
  const fields = withTenantIds(parts, given);
  return {
    collection: 'clients',
    id,
    fields,
    find: () => seedLedger.record('clients', id),
    create: () => clients.create({ ...fields, id, ...(secret !== undefined && { secret }) }),
    update: (_, patch) => clients.update(id, patch),
    ...(secret !== undefined && { apart: secretOf(secret, async () => (await clients.rotateSecret(id, secret)).client) }),
  };
}

async function withScopesThatMean<C extends NonNullable<Seed['clients']>[number]>(
  { directory }: Parts,
  client: C,
  scopes: ReadonlySet<string>,
): Promise<C> {
  const { id, allowedScopes } = client;
  return allowedScopes ? { ...client, allowedScopes: await scopesThatMean(directory, id, allowedScopes, scopes) } : client;
}

/** A secret that a seed gave once is not given again: an older release that starts once more must not undo a rotation. */
const secretOf = <R extends Client | ApiResource>(secret: string, rotate: () => Promise<R>): SeedPart<R> => ({
  field: 'secret',
  once: hashedSecret(secret).hash,
  digest: async ({ secrets }) => secrets[0]?.hash,
  isEqual: async ({ secrets }) => isLiveSecret(secrets, secret),
  seedDigest: async () => hashedSecret(secret).hash,
  set: rotate,
});

async function applyTenant(parts: Parts, tenant: SeedTenant): Promise<void> {
  const { directory, run, ids } = parts;
  const { subsidiaries = [], groups = [], persons = [], id: _, ...fields } = tenant;
  const tid = ids.tenant(tenant);
  const made = await run.apply<Tenant>({
    collection: 'tenants',
    id: tid,
    fields,
    find: () => directory.seedLedger.record('tenants', tid),
    create: () => directory.tenants.create({ ...fields, id: tid }),
    update: (_id, patch) => directory.tenants.update(tid, patch),
  });
  if (made === undefined) return;
  for (const subsidiary of subsidiaries) await run.apply(subsidiaryPiece(parts, tid, subsidiary));
  for (const group of groups) await run.apply(await groupPiece(parts, tid, group));
  for (const person of persons) await applyPerson(parts, tenant, person);
}

type InTenant<Name extends 'subsidiaries' | 'groups' | 'persons'> = NonNullable<SeedTenant[Name]>[number];

/** A record of another tenant is none. */
const ofTenant = async <R extends { readonly tid: string }>(tid: string, found: Promise<R | undefined>): Promise<R | undefined> => {
  const record = await found;
  return record?.tid === tid ? record : undefined;
};

function subsidiaryPiece({ directory, ids }: Parts, tid: string, subsidiary: InTenant<'subsidiaries'>): SeedPiece<Subsidiary> {
  const { subsidiaries } = directory.forTenant(tid);
  const id = ids.subsidiary(tid, subsidiary);
  const { id: _, ...fields } = subsidiary;
  return {
    collection: 'subsidiaries',
    id,
    fields,
    find: () => ofTenant(tid, directory.seedLedger.record<Subsidiary>('subsidiaries', id)),
    create: () => subsidiaries.create({ ...fields, id }),
    update: (_id, patch) => subsidiaries.update(id, patch),
  };
}

async function groupPiece({ directory, ids }: Parts, tid: string, group: InTenant<'groups'>): Promise<SeedPiece<Group>> {
  const { groups } = directory.forTenant(tid);
  const id = ids.group(tid, group);
  const { name, permissions } = group;
  const known = permissions && (await existing(permissions, (permission) => directory.permissions.get(permission)));
  const fields = { name, ...(known && { permissionIds: known.map((permission) => permission.id) }) };
  const get = (of: string) => ofTenant(tid, directory.seedLedger.record<Group>('groups', of));
  return {
    collection: 'groups',
    id,
    fields,
    find: async (recordId) =>
      recordId !== undefined ? get(recordId) : (group.id === undefined && (await groups.findByName(name))) || get(id),
    create: () => groups.create({ ...fields, id }),
    update: (recordId, patch) => groups.update(recordId, patch),
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
  const fields = { ...plain, ...(subsidiaryId !== undefined && { subsidiaryId }) };
  const get = (of: string) => ofTenant(tid, directory.seedLedger.record<Person>('persons', of));
  const made = await run.apply<Person>({
    collection: 'persons',
    id,
    fields,
    find: async (recordId) => {
      if (recordId !== undefined) return get(recordId);
      return (given === undefined && user && (await users.findByUserName(user.userName))) || get(id);
    },
    create: () => persons.create({ ...fields, ...(nationalId !== undefined && { nationalId }), id }),
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
  if (made !== undefined && user !== undefined) await applyUser(parts, tenant, made.id, user);
}

async function applyUser(parts: Parts, tenant: SeedTenant, personId: string, user: SeedUser): Promise<void> {
  const { directory, run, ids } = parts;
  const { credentials, seedLedger } = directory;
  const tid = ids.tenant(tenant);
  const { groups, users } = directory.forTenant(tid);
  const { id: _, linkedTo, devPassword, groups: names, status: said, ...given } = user;
  // Whoever says how a user signs in means one that can. Afterwards it is the user's own affair, and an administrator's.
  const status = said ?? (devPassword === undefined && linkedTo === undefined ? 'invited' : 'active');
  const fields = { ...given, userName: user.userName.trim() };
  const groupIds = names && (await existing(names, groupNamed)).map(({ id }) => id);
  const link = linkedTo && linkOf(parts, linkedTo);

  async function groupNamed(name: string): Promise<Group | undefined> {
    const ofSeed = tenant.groups?.find((group) => group.name === name);
    if (ofSeed === undefined) return groups.findByName(name);
    const id = run.recordId('groups', ids.group(tid, ofSeed));
    return id === undefined ? undefined : groups.get(id);
  }

  await run.apply<User>({
    collection: 'users',
    id: ids.user(tid, user),
    fields: { ...fields, ...(groupIds && { groupIds }) },
    async find(recordId) {
      const row = await seedLedger.record<Person>('persons', personId);
      return row?.tid === tid && (recordId === undefined || row.user?.id === recordId) ? row.user : undefined;
    },
    create: () => users.create(personId, { ...fields, id: ids.user(tid, user), status, ...(groupIds && { groups: { ids: groupIds } }) }),
    async update(oid, { groupIds: ofUser, ...patch }) {
      if (Object.keys(patch).length > 0) await users.update(oid, patch);
      if (ofUser) await users.setGroups(oid, { ids: ofUser as string[] });
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

/** Those of the names that mean something now: what one meant may have been taken away. */
async function existing<R>(names: readonly string[], find: (name: string) => Promise<R | undefined>): Promise<R[]> {
  return (await Promise.all(names.map(find))).flatMap((found) => found ?? []);
}

/** Tenants of the seed that are given by name, by their ids. */
function withTenantIds<Fields extends { allowedTenants?: readonly string[]; adminTenants?: readonly string[] }>(
  { tenants, ids }: Parts,
  given: Fields,
): Fields {
  const idOf = (name: string): string => {
    const tenant = tenants.find((one) => one.name === name);
    return tenant ? ids.tenant(tenant) : name;
  };
  return {
    ...given,
    ...(given.allowedTenants && { allowedTenants: given.allowedTenants.map(idOf) }),
    ...(given.adminTenants && { adminTenants: given.adminTenants.map(idOf) }),
  };
}

/** Whom the seed links a user to. */
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

async function applyLinks(parts: Parts, tenant: SeedTenant): Promise<void> {
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

/** A link that somebody else made stands. */
function unlessLinked(error: unknown): false {
  if (IdpError.is(error, 'already_linked')) return false;
  throw error;
}
