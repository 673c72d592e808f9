import { closest } from 'fastest-levenshtein';
import { ConfigError, type ConfigProblem, IdpError } from '../../errors.js';
import type { Tenant } from '../../store/records/records.js';
import { usesSecret } from '../clients/clients.js';
import type { Directory } from '../directory.js';
import { isId, organisationKey, userNameKey } from '../identifiers.js';
import type { SeedIds } from './ids.js';
import { type Seed, type SeedPerson, type SeedTenant, seedPath } from './schema.js';
import { findSeedScopeProblems } from './scopes.js';

/** What a reference may name, and the names to suggest when it names nothing. */
interface Target {
  readonly what: string;
  readonly names: readonly string[];
  /** Whether the directory has it, though the seed has not. */
  readonly kept?: (name: string) => Promise<unknown>;
}

/**
 * Checks that every name in the seed means something, in the seed or in the directory. To be called before anything is written.
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

/**
 * Names in a seed of the right form that mean nothing.
 * @param directory undefined: one that has nothing yet.
 * @param ofExtensions ids of the records that the seed gives extensions.
 */
export async function findSeedReferenceProblems(
  directory: Directory | undefined,
  seed: Seed,
  ids: SeedIds,
  ofExtensions: ReadonlySet<string> = new Set(),
): Promise<readonly ConfigProblem[]> {
  const { tenants = [], permissions = [], clients = [] } = seed;
  const problems: ConfigProblem[] = [];
  const tenantNames = tenants.map(({ name }) => name);
  const inSeed: Target = { what: 'a tenant of the seed', names: tenantNames };

  const check = async ({ what, names, kept }: Target, name: string, ...path: (string | number)[]) => {
    if (names.includes(name) || (await kept?.(name))) return;
    const didYouMean = names.length > 0 ? { didYouMean: closest(name, names) } : {};
    const expected = names.length > 0 ? what : `${what}: none exists, so add one`;
    problems.push({ path: seedPath(...path), expected, received: `'${name}'`, ...didYouMean });
  };

  async function checkTenant(tenant: SeedTenant, index: number): Promise<void> {
    const first = tenantNames.findIndex((name) => organisationKey(name) === organisationKey(tenant.name));
    if (first < index) {
      problems.push({
        path: seedPath('tenants', index, 'name'),
        expected: `a name other than that of seed.tenants[${first}]; case and spaces do not count`,
      });
    }
    const { methods = [] } = tenant.signIn ?? {};
    if (directory && methods.length > 0) {
      // Past the caches: an absence they remember would hide a tenant that another node makes meanwhile.
      const row = directory.seedLedger.record<Tenant>('tenants', ids.tenant(tenant)).catch(IdpError.unless('record_unreadable'));
      // A method that was allowed when it was written may be gone since: that ends no start.
      const names = [...((await row)?.signIn?.methods ?? []), ...ofExtensions];
      const target = { what: 'a sign-in method', names, kept: async (name: string) => directory.policies.offers(name, ids.tenant(tenant)) };
      for (const [m, method] of methods.entries()) await check(target, method, 'tenants', index, 'signIn', 'methods', m);
    }
    const known: Target = {
      what: 'a permission',
      names: permissions.map(({ id }) => id),
      ...(directory ? { kept: directory.permissions.get } : {}),
    };
    for (const [g, group] of (tenant.groups ?? []).entries()) {
      for (const [p, permission] of (group.permissions ?? []).entries()) {
        await check(known, permission, 'tenants', index, 'groups', g, 'permissions', p);
      }
    }
    for (const [p, person] of (tenant.persons ?? []).entries()) {
      await checkPerson(tenant, person, 'tenants', index, 'persons', p);
    }
  }

  async function checkPerson(tenant: SeedTenant, person: SeedPerson, ...path: (string | number)[]): Promise<void> {
    const groups = directory?.forTenant(ids.tenant(tenant)).groups;
    if (person.subsidiary !== undefined) {
      const names = (tenant.subsidiaries ?? []).map(({ name }) => name);
      await check({ what: 'a subsidiary of the tenant', names }, person.subsidiary, ...path, 'subsidiary');
    }
    const ownGroups: Target = {
      what: 'a group of the tenant',
      names: (tenant.groups ?? []).map(({ name }) => name),
      ...(groups ? { kept: groups.findByName } : {}),
    };
    for (const [g, group] of (person.user?.groups ?? []).entries()) {
      await check(ownGroups, group, ...path, 'user', 'groups', g);
    }
    const { linkedTo } = person.user ?? {};
    if (linkedTo === undefined) return;
    const parentTenant = tenants.find(({ name }) => name === linkedTo.tenant);
    if (parentTenant === undefined) return check(inSeed, linkedTo.tenant, ...path, 'user', 'linkedTo', 'tenant');
    const users: Target = {
      what: 'the user name of a user of that tenant',
      names: (parentTenant.persons ?? []).flatMap(({ user }) => (user ? userNameKey(user.userName) : [])),
      ...(directory ? { kept: directory.forTenant(ids.tenant(parentTenant)).users.findByUserName } : {}),
    };
    await check(users, userNameKey(linkedTo.userName), ...path, 'user', 'linkedTo', 'userName');
  }

  for (const [index, tenant] of tenants.entries()) await checkTenant(tenant, index);
  const named: Target = {
    ...inSeed,
    what: 'a tenant of the seed by name, or an id',
    kept: async (name) => isId(name),
  };
  for (const [index, client] of clients.entries()) {
    for (const [t, name] of (client.allowedTenants ?? []).entries()) {
      await check(named, name, 'clients', index, 'allowedTenants', t);
    }
    for (const [t, name] of (client.adminTenants ?? []).entries()) {
      if (name !== '*') await check(named, name, 'clients', index, 'adminTenants', t);
    }
    if (client.secret === undefined && usesSecret(client.metadata ?? {})) {
      const expected = "a secret, or metadata.token_endpoint_auth_method 'none' or 'private_key_jwt'";
      problems.push({ path: seedPath('clients', index, 'secret'), expected });
    }
  }
  for (const [index, { secret, allowedTenants = [] }] of (seed.apiResources ?? []).entries()) {
    for (const [t, name] of allowedTenants.entries()) await check(named, name, 'apiResources', index, 'allowedTenants', t);
    if (secret === undefined)
      problems.push({
        path: seedPath('apiResources', index, 'secret'),
        expected: 'a secret, such as the output of openssl rand -base64 32',
      });
  }
  return problems;
}
