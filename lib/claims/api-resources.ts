import { unknownName } from '../config-problem.js';
import { ConfigError } from '../errors.js';
import { declarationsOf } from './checks.js';
import type { ClaimSet } from './contract.js';

/**
 * Checks that all API resources exist that claims name for access tokens.
 * @param list returns all ids of API resources.
 * @throws ConfigError `invalid_options`, with each unknown id.
 */
export async function checkApiResources(sets: readonly ClaimSet[], list: () => Promise<readonly string[]>): Promise<void> {
  const named = sets.flatMap((set) =>
    declarationsOf(set).flatMap(([claim, { apiResources = [] }]) =>
      apiResources.map((id, index) => ({ id, path: ['claims', set.name, claim, 'apiResources', index] })),
    ),
  );
  if (named.length === 0) return;
  const all = await list();
  const problems = named.flatMap(({ id, path }) =>
    all.includes(id) ? [] : [unknownName(path, id, all, 'the id of an API resource that exists')],
  );
  if (problems.length > 0) throw new ConfigError('invalid_options', problems);
}
