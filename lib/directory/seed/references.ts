import { closest } from 'fastest-levenshtein';
import { ConfigError, type ConfigProblem, IdpError } from '../../errors.js';
import { present } from '../../present.js';
import type { Tenant } from '../../store/records/records.js';
import { usesSecret } from '../clients/clients.js';
import type { Directory } from '../directory.js';
import { isId, organisationKey, userNameKey } from '../identifiers.js';
import type { SeedIds } from './ids.js';
import { type Seed, type SeedPerson, type SeedTenant, seedPath } from './schema.js';
import { findSeedScopeProblems } from './scopes.js';

/** Records to which a reference may lead, and the names to suggest for an unknown name. */
interface Target {
  readonly what: string;
  readonly names: readonly string[];
  /** Returns whether the directory has the record, if the seed does not. */
  readonly isStored?: (name: string) => Promise<unknown>;
}

/**
 * Checks that every name in the seed refers to a record of the seed or of the directory. Call the function before anything is written.
 * @throws ConfigError with every name that does not.
 */
export async function checkSeedReferences(
  directory: Directory,
  seed: Seed,
  ids: SeedIds,
  ofExtensions: ReadonlySet<string>,
): Promise<void> {
  const problems = [
    ...(await findSeedReferenceProblems(directory, seed, ids, ofExtensions)),
    ...(await findSeedScopeProblems(directory, seed, await directory.existingScopes())),
    ...(seed.clients ?? []).flatMap((client, index) =>
      directory.clients
        .problemsOf(client)
        .map(({ path, ...problem }) => ({ ...problem, path: seedPath('clients', index, ...path.split('/').slice(1)) })),
    ),
  ];
  if (problems.length > 0) throw new ConfigError('invalid_options', problems);
}

/** A search for names that refer to no record, in a seed of the right form. */
interface Search {
  readonly directory: Directory | undefined;
  readonly seed: Seed;
  readonly ids: SeedIds;
  readonly ofExtensions: ReadonlySet<string>;
  /** The problems so far. */
  readonly problems: ConfigProblem[];
}

type Path = readonly (string | number)[];

/**
 * Returns the names that refer to no record, in a seed of the right form.
 * @param directory undefined means an empty directory.
 * @param ofExtensions ids of the records that the seed gives extensions.
 */
export async function findSeedReferenceProblems(
  directory: Directory | undefined,
  seed: Seed,
  ids: SeedIds,
  ofExtensions: ReadonlySet<string> = new Set(),
): Promise<readonly ConfigProblem[]> {
  const search: Search = { directory, seed, ids, ofExtensions, problems: [] };
  const { tenants = [], clients = [], apiResources = [] } = seed;
  for (const [index, tenant] of tenants.entries()) await checkTenant(search, tenant, index);
  for (const [index, client] of clients.entries()) await checkClient(search, client, index);
  for (const [index, resource] of apiResources.entries()) await checkApiResource(search, resource, index);
  return search.problems;
}

async function check({ problems }: Search, { what, names, isStored }: Target, name: string, path: Path): Promise<void> {
  if (names.includes(name) || (await isStored?.(name))) return;
  const didYouMean = names.length > 0 ? closest(name, names) : undefined;
  const expected = names.length > 0 ? what : `${what}: none exists, so add one`;
  problems.push({ path: seedPath(...path), expected, received: `'${name}'`, ...present({ didYouMean }) });
}

const tenantNamesOf = ({ tenants = [] }: Seed): readonly string[] => tenants.map(({ name }) => name);

async function checkTenant(search: Search, tenant: SeedTenant, index: number): Promise<void> {
  const { directory, seed, problems } = search;
  const first = tenantNamesOf(seed).findIndex((name) => organisationKey(name) === organisationKey(tenant.name));
  if (first < index) {
    problems.push({
      path: seedPath('tenants', index, 'name'),
      expected: `a name other than that of seed.tenants[${first}]; case and spaces do not count`,
    });
  }
  await checkMethods(search, tenant, index);
  const permission: Target = {
    what: 'a permission',
    names: (seed.permissions ?? []).map(({ id }) => id),
    ...present({ isStored: directory?.permissions.get }),
  };
  for (const [g, group] of (tenant.groups ?? []).entries()) {
    for (const [p, name] of (group.permissions ?? []).entries()) {
      await check(search, permission, name, ['tenants', index, 'groups', g, 'permissions', p]);
    }
  }
  for (const [p, person] of (tenant.persons ?? []).entries()) await checkPerson(search, tenant, person, ['tenants', index, 'persons', p]);
}

async function checkMethods(search: Search, tenant: SeedTenant, index: number): Promise<void> {
  const { directory, ids, ofExtensions } = search;
  const { methods = [] } = tenant.signIn ?? {};
  if (!directory || methods.length === 0) return;
  const tid = ids.tenant(tenant);
  // The read skips the caches, because a cached absence would hide a tenant that another node has just created.
  const row = await directory.seedLedger.record<Tenant>('tenants', tid).catch(IdpError.unless('record_unreadable'));
  // A method that existed when it was written may not exist any more. A missing method must not prevent a start.
  const names = [...(row?.signIn?.methods ?? []), ...ofExtensions];
  const method: Target = { what: 'a sign-in method', names, isStored: async (name) => directory.policies.offers(name, tid) };
  for (const [m, name] of methods.entries()) await check(search, method, name, ['tenants', index, 'signIn', 'methods', m]);
}

async function checkPerson(search: Search, tenant: SeedTenant, person: SeedPerson, path: Path): Promise<void> {
  const { directory, seed, ids } = search;
  const groups = directory?.forTenant(ids.tenant(tenant)).groups;
  if (person.subsidiary !== undefined) {
    const names = (tenant.subsidiaries ?? []).map(({ name }) => name);
    await check(search, { what: 'a subsidiary of the tenant', names }, person.subsidiary, [...path, 'subsidiary']);
  }
  const ownGroup: Target = {
    what: 'a group of the tenant',
    names: (tenant.groups ?? []).map(({ name }) => name),
    ...present({ isStored: groups?.findByName }),
  };
  for (const [g, group] of (person.user?.groups ?? []).entries()) await check(search, ownGroup, group, [...path, 'user', 'groups', g]);
  const { linkedTo } = person.user ?? {};
  if (linkedTo === undefined) return;
  const parentTenant = (seed.tenants ?? []).find(({ name }) => name === linkedTo.tenant);
  const linkPath = [...path, 'user', 'linkedTo'];
  if (parentTenant === undefined)
    return check(search, { what: 'a tenant of the seed', names: tenantNamesOf(seed) }, linkedTo.tenant, [...linkPath, 'tenant']);
  const parent: Target = {
    what: 'the user name of a user of that tenant',
    names: (parentTenant.persons ?? []).flatMap(({ user }) => (user ? userNameKey(user.userName) : [])),
    ...present({ isStored: directory?.forTenant(ids.tenant(parentTenant)).users.findByUserName }),
  };
  await check(search, parent, userNameKey(linkedTo.userName), [...linkPath, 'userName']);
}

const tenantOrId = ({ seed }: Search): Target => ({
  what: 'a tenant of the seed by name, or an id',
  names: tenantNamesOf(seed),
  isStored: async (name) => isId(name),
});

async function checkClient(search: Search, client: NonNullable<Seed['clients']>[number], index: number): Promise<void> {
  const { allowedTenants = [], adminTenants = [], secret, metadata = {} } = client;
  const tenant = tenantOrId(search);
  for (const [t, name] of allowedTenants.entries()) await check(search, tenant, name, ['clients', index, 'allowedTenants', t]);
  for (const [t, name] of adminTenants.entries()) {
    if (name !== '*') await check(search, tenant, name, ['clients', index, 'adminTenants', t]);
  }
  if (secret === undefined && usesSecret(metadata))
    search.problems.push({
      path: seedPath('clients', index, 'secret'),
      expected: "a secret, or metadata.token_endpoint_auth_method 'none' or 'private_key_jwt'",
    });
}

async function checkApiResource(search: Search, resource: NonNullable<Seed['apiResources']>[number], index: number): Promise<void> {
  const { secret, allowedTenants = [] } = resource;
  const tenant = tenantOrId(search);
  for (const [t, name] of allowedTenants.entries()) await check(search, tenant, name, ['apiResources', index, 'allowedTenants', t]);
  if (secret === undefined)
    search.problems.push({
      path: seedPath('apiResources', index, 'secret'),
      expected: 'a secret, such as the output of openssl rand -base64 32',
    });
}
