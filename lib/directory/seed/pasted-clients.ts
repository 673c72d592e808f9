/** Clients of a seed, whose metadata may have other spellings, as users paste it. */

import { type ConfigProblem, IdpError } from '../../errors.js';
import type { RecordProblem } from '../clients/client-metadata.js';
import type { UnderstoodMetadata } from '../clients/pasted-metadata.js';
import { type Seed, seedPath } from './schema.js';

interface UnderstoodSeed {
  /** The seed with the metadata of its clients as the service reads it. */
  readonly seed: Seed;
  /** Parts of the metadata that are left out, or read with another meaning than their text. */
  readonly warnings: readonly { readonly path: string; readonly reason: string }[];
  readonly problems: readonly ConfigProblem[];
}

export function understoodClients(
  seed: Seed,
  understood: (metadata: Readonly<Record<string, unknown>>) => UnderstoodMetadata,
): UnderstoodSeed {
  const warnings: { path: string; reason: string }[] = [];
  const problems: ConfigProblem[] = [];
  const clients = seed.clients?.map((client, index) => {
    const pathOf = ({ path }: { readonly path: string }): string => seedPath('clients', index, ...path.split('/').slice(1));
    try {
      const read = client.metadata && understood(client.metadata);
      if (!read) return client;
      warnings.push(...read.warnings.map((warning) => ({ ...warning, path: pathOf(warning) })));
      return { ...client, metadata: read.metadata };
    } catch (error) {
      if (!IdpError.is(error, 'invalid_record')) throw error;
      const { problems: found = [] } = error.details as { readonly problems?: readonly RecordProblem[] };
      problems.push(...found.map((problem) => ({ ...problem, path: pathOf(problem) })));
      return client;
    }
  });
  return { seed: clients ? { ...seed, clients } : seed, warnings, problems };
}
