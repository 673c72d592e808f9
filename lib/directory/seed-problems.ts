import { type ConfigProblem, IdpError } from '../errors.js';
import { checkNewClient } from './clients.js';
import { seedIds } from './seed-ids.js';
import { findSeedReferenceProblems } from './seed-references.js';
import { findSeedFormProblems, type Seed, seedPath } from './seed-schema.js';

/**
 * All that can be said of a seed before the stores are open. @param isAlone whether the directory has nothing yet that the seed could refer to.
 */
export async function findSeedProblems(
  seed: unknown,
  { issuer, isAlone }: { issuer: string; isAlone: boolean },
): Promise<readonly ConfigProblem[]> {
  if (seed === undefined) return [];
  const malformed = findSeedFormProblems(seed);
  if (malformed.length > 0) return malformed;
  const wellFormed = seed as Seed;
  const references = isAlone ? await findSeedReferenceProblems(undefined, wellFormed, seedIds(issuer)) : [];
  return [
    ...references,
    ...(wellFormed.clients ?? []).flatMap((client, index) => problemOf(() => checkNewClient(client), 'clients', index)),
  ];
}

function problemOf(check: () => void, ...at: readonly (string | number)[]): readonly ConfigProblem[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!(error instanceof IdpError)) throw error;
    const { path, expected } = error.details;
    return [
      {
        path: seedPath(
          ...at,
          ...String(path ?? '')
            .split('/')
            .slice(1),
        ),
        expected: String(expected ?? error.message),
      },
    ];
  }
}
