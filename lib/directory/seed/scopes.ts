/**
 * Scopes of the clients of a seed. After its API resource was removed, a scope that a seed gave before, or that the client has, is still no
 * error.
 */
import type { ConfigProblem } from '../../errors.js';
import { isAdminScope } from '../../store/records/admin-scopes.js';
import { findScopeProblems } from '../clients/client-scopes.js';
import type { Directory } from '../directory.js';
import { seedEntryId } from '../seed-ledger.js';
import { type Seed, seedPath } from './schema.js';

/** @param directory undefined means an empty directory. @param existing scopes, without the scopes of the seed. */
export async function findSeedScopeProblems(
  directory: Directory | undefined,
  { clients = [], apiResources = [] }: Seed,
  existing: ReadonlySet<string>,
): Promise<readonly ConfigProblem[]> {
  const all = new Set([...existing, ...apiResources.flatMap(({ scopes }) => scopes)]);
  const ofClients = clients.map(async ({ id, allowedScopes: wanted = [] }, index) => {
    // Extensions add the scopes of the admin API later.
    const allowedScopes = directory ? wanted : wanted.filter((scope) => !isAdminScope(scope));
    const grantable = await withScopesOf(directory, id, allowedScopes, all);
    return findScopeProblems(allowedScopes, grantable).map(({ path, ...problem }) => ({
      ...problem,
      path: seedPath('clients', index, ...path.split('/').slice(1)),
    }));
  });
  return (await Promise.all(ofClients)).flat();
}

/** Returns the scopes that the client has, got from a seed before, or may get now. */
export async function scopesThatMean(
  directory: Directory,
  id: string,
  allowedScopes: readonly string[],
  existing: ReadonlySet<string>,
): Promise<string[]> {
  const grantable = await withScopesOf(directory, id, allowedScopes, existing);
  return allowedScopes.filter((scope) => grantable.has(scope));
}

async function withScopesOf(
  directory: Directory | undefined,
  id: string,
  wanted: readonly string[],
  existing: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  if (directory === undefined || wanted.every((scope) => existing.has(scope))) return existing;
  // Neither call throws for a damaged record, because the run reports it.
  const entry = await directory.seedLedger.entry(seedEntryId('clients', id));
  const given = (entry?.items ?? []).flatMap(({ field, item }) => (field === 'allowedScopes' ? [item] : []));
  const client = await directory.clients.get(id);
  return new Set([...existing, ...given, ...(client?.allowedScopes ?? [])]);
}
