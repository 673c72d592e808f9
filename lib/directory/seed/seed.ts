/**
 * Seeds: records that a host declares, created at the start.
 *
 * `schema` and `problems` refuse an invalid seed before anything is written. The ledger remembers the records that seeds created, so that a
 * later run does not touch records that others changed or removed since (`changes`, `run`). `tenant` applies a tenant with its persons.
 */

import { ConfigError } from '../../errors.js';
import type { Logger } from '../../logger.js';
import { isAdminScope } from '../../store/records/admin-scopes.js';
import type { ApiResource, Client, Permission } from '../../store/records/records.js';
import { apiResourceDefaults } from '../clients/api-resources.js';
import { authorityOfClient } from '../clients/client-vouchers.js';
import { clientDefaults } from '../clients/clients.js';
import { hashedSecret, isLiveSecret } from '../credentials/secrets.js';
import type { Directory } from '../directory.js';
import type { SeedLedger } from '../seed-ledger.js';
import { seedIds } from './ids.js';
import { understoodClients } from './pasted-clients.js';
import { checkSeedReferences } from './references.js';
import { createSeedRun, type SeedPart, type SeedPiece } from './run.js';
import { checkSeedForm, type Seed } from './schema.js';
import { scopesThatMean } from './scopes.js';
import { applyLinks, applyTenant, type Parts } from './tenant.js';

export type { Seed } from './schema.js';

/**
 * Creates the records of the seed that no seed created before, and changes records that a seed created and nobody has changed since
 * (`seed.mode`). The function removes no record, and restores no removed one. Several runs, and concurrent runs on many nodes, are safe. An
 * absent seed starts the ledger, so that a later seed knows that no record existed.
 * @throws ConfigError, before anything is written, with the path of every invalid value.
 */
export async function applySeed(
  given: Directory,
  written: Seed | undefined,
  logger: Logger,
  piecesOfExtensions: (seed: Seed, tenantId: (name: string) => string) => readonly SeedPiece<{ readonly id: string }>[] = () => [],
): Promise<void> {
  if (written !== undefined) checkSeedForm(written);
  await given.seedLedger.begin();
  if (written === undefined) return;
  const { seed, warnings, problems } = understoodClients(written, (metadata) => given.clients.understood(metadata));
  if (problems.length > 0) throw new ConfigError('invalid_options', problems);
  if (warnings.length > 0) logger.warn({ warnings }, 'the service ignored or reinterpreted parts of client metadata in the seed');
  const directory = given.as({ actor: 'seed' });
  const ids = seedIds(directory.issuer);
  const { tenants = [], permissions = [], clients = [], apiResources = [], mode = 'update' } = seed;
  const tenantId = (name: string) => {
    const tenant = tenants.find((one) => one.name === name);
    return tenant ? ids.tenant(tenant) : name;
  };
  const ofExtensions = piecesOfExtensions(seed, tenantId);
  await checkSeedReferences(directory, seed, ids, new Set(ofExtensions.map(({ id }) => id)));
  const run = await createSeedRun(directory.seedLedger, mode);
  const parts: Parts = { directory, run, ids, tenants };

  // Policies of tenants may name these records.
  for (const piece of ofExtensions) await run.apply(piece);
  for (const permission of permissions) await run.apply(permissionPiece(parts, permission));
  for (const tenant of tenants) await applyTenant(parts, tenant);
  for (const apiResource of apiResources) await run.apply(apiResourcePiece(parts, apiResource));
  const scopes = await directory.existingScopes();
  for (const client of clients) await run.apply(clientPiece(parts, await withScopesThatMean(parts, client, scopes)));
  for (const tenant of tenants) await applyLinks(parts, tenant);
  await directory.seedLedger.settle();
  run.tell(logger);
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
    defaults: apiResourceDefaults,
    find: () => seedLedger.record('apiResources', id),
    create: () => apiResources.create({ ...fields, id, ...(secret !== undefined && { secret }) }),
    update: async (_, patch, isMade) => apiResources.update(id, isMade ? patch : await withoutRights(parts, 'apiResources', id, patch)),
    ...(secret !== undefined && {
      apart: secretOf(secret, seedLedger, async () => (await apiResources.rotateSecret(id, secret)).apiResource),
    }),
  };
}

function clientPiece(parts: Parts, { id, secret, ...given }: NonNullable<Seed['clients']>[number]): SeedPiece<Client> {
  const { clients, seedLedger } = parts.directory;
  const fields = withTenantIds(parts, given);
  return {
    collection: 'clients',
    id,
    fields,
    defaults: clientDefaults,
    find: () => seedLedger.record('clients', id),
    create: () => clients.create({ ...fields, id, ...(secret !== undefined && { secret }) }),
    update: async (_, patch, isMade) =>
      clients.update(id, isMade ? await withoutUnvouched(parts, id, patch) : await withoutRights(parts, 'clients', id, patch)),
    ...(secret !== undefined && { apart: secretOf(secret, seedLedger, async () => (await clients.rotateSecret(id, secret)).client) }),
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

/** Members whose value grants a right, with that value. */
const rights: ReadonlySet<string> = new Set(['trustedLoginHint true', 'introspects all', 'impersonation allow']);

/** Returns the patch without rights, unless a seed created the record. The creator of another record may know its secret. */
async function withoutRights(
  { directory, run }: Parts,
  collection: 'clients' | 'apiResources',
  id: string,
  { allowedScopes, adminTenants, ...patch }: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const before = await directory.seedLedger.record<Client | ApiResource>(collection, id);
  const had: Pick<Client, 'allowedScopes' | 'adminTenants'> =
    before && 'adminTenants' in before ? before : { allowedScopes: [], adminTenants: [] };
  const isGiven = (field: string, value: unknown, isRight: boolean): boolean => {
    if (isRight) run.withhold(collection, id, `${field} ${value}`);
    return !isRight;
  };
  const listOf = (field: keyof typeof had, list: unknown, isRight: (item: string) => boolean) =>
    Array.isArray(list) && {
      [field]: (list as string[]).filter((one) => isGiven(field, one, isRight(one) && !had[field].includes(one))),
    };
  return {
    ...Object.fromEntries(Object.entries(patch).filter(([field, value]) => isGiven(field, value, rights.has(`${field} ${value}`)))),
    ...listOf('allowedScopes', allowedScopes, isAdminScope),
    ...listOf('adminTenants', adminTenants, () => true),
  };
}

/** Returns the patch without the rights that need a confirmation, because a client administrator wrote a secret or metadata of the seed's own client. */
async function withoutUnvouched(
  { directory, run }: Parts,
  id: string,
  { allowedScopes, trustedLoginHint, ...patch }: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const before = await directory.seedLedger.record<Client>('clients', id);
  const writers = authorityOfClient(before ?? {});
  const isGiven = (scope: string): boolean =>
    !isAdminScope(scope) || writers.holds(scope) || before?.allowedScopes.includes(scope) === true;
  const withheld = Array.isArray(allowedScopes) ? (allowedScopes as string[]).filter((scope) => !isGiven(scope)) : [];
  for (const item of withheld) run.withhold('clients', id, `allowedScopes ${item}`, { field: 'allowedScopes', item });
  const isDistrusted = trustedLoginHint === true && !(await directory.privileges.mayTrustHints(writers));
  if (isDistrusted) run.withhold('clients', id, 'trustedLoginHint true');
  return {
    ...patch,
    ...(Array.isArray(allowedScopes) && { allowedScopes: (allowedScopes as string[]).filter(isGiven) }),
    ...(trustedLoginHint !== undefined && !isDistrusted && { trustedLoginHint }),
  };
}

/** Returns the secret, unless a seed gave it before. An older release that restarts must not undo a rotation. */
const secretOf = <R extends Client | ApiResource>(
  secret: string,
  { now }: Pick<SeedLedger, 'now'>,
  rotate: () => Promise<R>,
): SeedPart<R> => ({
  field: 'secret',
  once: hashedSecret(secret).hash,
  digest: async ({ secrets }) => secrets[0]?.hash,
  isEqual: async ({ secrets }) => isLiveSecret(secrets, secret, now()),
  seedDigest: async () => hashedSecret(secret).hash,
  set: rotate,
});

/** Returns the fields with the ids of tenants in place of the names in the seed. */
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
