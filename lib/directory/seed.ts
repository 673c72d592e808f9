import { IdpError } from '../errors.js';
import type { ClientInput } from './clients.js';
import type { Directory, TenantDirectory } from './create-directory.js';
import { defined } from './input.js';
import { type SeedIds, seedIds } from './seed-ids.js';
import { checkSeedReferences } from './seed-references.js';
import { checkSeedForm, type Seed, type SeedPerson, type SeedTenant, type SeedUser } from './seed-schema.js';

export type { Seed } from './seed-schema.js';

/**
 * Makes the directory have the records of the seed: creates what is absent, updates what differs, writes nothing else, and removes nothing. Safe
 * to run again, and on many nodes at once.
 * @throws ConfigError, before anything is written, with the path of every value that is wrong.
 */
export async function applySeed(directory: Directory, seed: Seed): Promise<void> {
  checkSeedForm(seed);
  const ids = seedIds(directory.issuer);
  await checkSeedReferences(directory, seed, ids);
  const { tenants = [], permissions = [], clients = [], apiResources = [] } = seed;

  for (const permission of permissions) {
    const { id, ...fields } = permission;
    await upsert(
      () => directory.permissions.update(id, fields),
      () => directory.permissions.create(permission),
    );
  }
  for (const tenant of tenants) await applyTenant(directory, tenant, ids);
  for (const apiResource of apiResources) {
    const { id, secret, ...given } = apiResource;
    const fields = withTenantIds(given, tenants, ids);
    await upsert(
      () => directory.apiResources.update(id, fields),
      () => directory.apiResources.create({ ...fields, id, ...(secret !== undefined && { secret }) }),
    );
    if (secret !== undefined && !(await directory.apiResources.checkSecret(id, secret))) {
      await directory.apiResources.rotateSecret(id, secret);
    }
  }
  for (const client of clients) await applyClient(directory, client, tenants, ids);
  for (const tenant of tenants) await applyLinks(directory, tenant, tenants, ids);
}

/** Updates; creates what is not there; updates after all when another node was faster. */
async function upsert<R>(update: () => Promise<R>, create: () => Promise<unknown>): Promise<void> {
  const updated = await update().catch(unless('not_found'));
  if (updated !== undefined) return;
  const refused = await create().then(() => undefined, unlessTaken);
  if (refused === undefined) return;
  await update().catch((error: unknown) => {
    throw error instanceof IdpError && error.code === 'not_found' ? refused : error;
  });
}

async function applyTenant(directory: Directory, tenant: SeedTenant, ids: SeedIds): Promise<void> {
  const { subsidiaries = [], groups = [], persons = [], id: _, ...fields } = tenant;
  const tid = ids.tenant(tenant);
  const services = directory.forTenant(tid);
  await upsert(
    () => directory.tenants.update(tid, fields),
    () => directory.tenants.create({ ...fields, id: tid }),
  );
  for (const subsidiary of subsidiaries) {
    const id = ids.subsidiary(tid, subsidiary);
    const { id: _given, ...given } = subsidiary;
    await upsert(
      () => services.subsidiaries.update(id, given),
      () => services.subsidiaries.create({ ...given, id }),
    );
  }
  for (const group of groups) {
    const { name, permissions: permissionIds } = group;
    const given = defined({ name, ...(permissionIds && { permissionIds }) });
    await upsert(
      async () => services.groups.update(await groupId(), given),
      async () => services.groups.create({ ...given, id: await groupId() }),
    );
    async function groupId() {
      return group.id ?? (await services.groups.findByName(name))?.id ?? ids.group(tid, group);
    }
  }
  for (const person of persons) await applyPerson(directory, services, tenant, person, ids);
}

async function applyPerson(
  directory: Directory,
  { persons, users }: TenantDirectory,
  tenant: SeedTenant,
  person: SeedPerson,
  ids: SeedIds,
): Promise<void> {
  const tid = ids.tenant(tenant);
  const { id: given, user, subsidiary: name, ...plain } = person;
  const subsidiary = tenant.subsidiaries?.find((one) => one.name === name);
  const fields = { ...plain, ...(subsidiary && { subsidiaryId: ids.subsidiary(tid, subsidiary) }) };
  const personId = async () => given?.toLowerCase() ?? (user && (await users.findByUserName(user.userName))?.id) ?? ids.person(tid, person);

  const input = user && userInput(user, ids.user(tid, user));
  await upsert(
    async () => persons.update(await personId(), fields),
    async () => persons.create({ ...fields, id: await personId(), ...(input && { user: input }) }),
  );
  if (user === undefined || input === undefined) return;

  const id = await personId();
  const userId = async () => (await persons.require(id)).user?.id;
  const { groups, id: _, status: __, ...names } = input;
  await upsert(
    async () => users.update((await userId()) ?? '', names),
    () => users.create(id, input),
  );
  const oid = (await userId()) ?? '';
  if (groups) await users.setGroups(oid, groups);
  if (user.devPassword !== undefined) await directory.credentials.seedPassword(oid, user.devPassword);
}

/** Whoever says how a user signs in means one that can. */
const userInput = ({ userName, emailVerified, groups, devPassword, linkedTo, status }: SeedUser, id: string) => ({
  id,
  userName,
  status: status ?? (devPassword === undefined && linkedTo === undefined ? ('invited' as const) : ('active' as const)),
  ...(emailVerified !== undefined && { emailVerified }),
  ...(groups && { groups: { names: [...groups] } }),
});

async function applyClient({ clients }: Directory, client: ClientInput, tenants: readonly SeedTenant[], ids: SeedIds): Promise<void> {
  const { id, secret, ...given } = client;
  const fields = withTenantIds(given, tenants, ids);
  await upsert(
    () => clients.update(id, fields),
    () => clients.create({ ...fields, id, ...(secret !== undefined && { secret }) }),
  );
  if (secret !== undefined && !(await clients.checkSecret(id, secret))) await clients.rotateSecret(id, secret);
}

/** Tenants of the seed that are given by name, by their ids. */
function withTenantIds<Fields extends { allowedTenants?: string[]; adminTenants?: string[] }>(
  given: Fields,
  tenants: readonly SeedTenant[],
  ids: SeedIds,
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

async function applyLinks(directory: Directory, tenant: SeedTenant, tenants: readonly SeedTenant[], ids: SeedIds): Promise<void> {
  const { users, linking } = directory.forTenant(ids.tenant(tenant));
  const userIdOf = async (of: TenantDirectory['users'], userName: string) => (await of.findByUserName(userName))?.user.id ?? '';
  for (const { user } of tenant.persons ?? []) {
    const parentTenant = tenants.find(({ name }) => name === user?.linkedTo?.tenant);
    if (user?.linkedTo === undefined || parentTenant === undefined) continue;
    const tid = ids.tenant(parentTenant);
    const userId = await userIdOf(directory.forTenant(tid).users, user.linkedTo.userName);
    await linking.link(await userIdOf(users, user.userName), { tid, userId });
  }
}

const unless = (code: string) => (error: unknown) => {
  if (!(error instanceof IdpError && error.code === code)) throw error;
  return undefined;
};

/** What a record that another node has just created makes of a creation. */
function unlessTaken(error: unknown): IdpError {
  const taken = ['conflict', 'user_name_taken', 'person_has_user'];
  if (error instanceof IdpError && taken.includes(error.code)) return error;
  throw error;
}
