import type { TSchema } from '@sinclair/typebox';
import type { ConfigProblem } from '../../errors.js';
import type { AttributeRules } from '../attributes.js';
import { findAlgorithmProblems } from '../clients/api-resources.js';
import { findClientProblems, findIdProblems } from '../clients/client-metadata.js';
import { understoodMetadata } from '../clients/pasted-metadata.js';
import type { ClientRules } from '../context.js';
import { seedIds } from './ids.js';
import { understoodClients } from './pasted-clients.js';
import { findSeedReferenceProblems } from './references.js';
import { findExtensionSeedProblems, findSeedFormProblems, type Seed, seedPath } from './schema.js';
import { findSeedScopeProblems } from './scopes.js';

interface Surroundings {
  readonly issuer: string;
  /** Whether the directory has no record yet to which the seed could refer. */
  readonly isAlone: boolean;
  readonly clientRules: ClientRules;
  readonly identityScopes: ReadonlySet<string>;
  /** Forms of the seeds of extensions, by their names. */
  readonly formsOfExtensions: ReadonlyMap<string, TSchema>;
  /** The schema of the attributes of persons. */
  readonly attributes: AttributeRules | undefined;
}

/** Returns all problems of a seed that can be found before the stores are open. */
export async function findSeedProblems(
  seed: unknown,
  { issuer, isAlone, clientRules, identityScopes, formsOfExtensions, attributes }: Surroundings,
): Promise<readonly ConfigProblem[]> {
  if (seed === undefined) return [];
  const malformed = findSeedFormProblems(seed);
  if (malformed.length > 0) return malformed;
  const { seed: wellFormed, problems: ofKeys } = understoodClients(seed as Seed, (metadata) =>
    understoodMetadata(metadata, {}, clientRules),
  );
  const references = isAlone ? await findSeedReferenceProblems(undefined, wellFormed, seedIds(issuer)) : [];
  const scopes = isAlone ? await findSeedScopeProblems(undefined, wellFormed, identityScopes) : [];
  return [
    ...findExtensionSeedProblems(wellFormed, formsOfExtensions),
    ...findAttributeProblems(wellFormed, attributes),
    ...references,
    ...scopes,
    ...ofKeys,
    ...(wellFormed.apiResources ?? []).flatMap((resource, index) =>
      findAlgorithmProblems(resource, clientRules).map(({ path, ...problem }) => ({
        ...problem,
        path: seedPath('apiResources', index, ...path.split('/').slice(1)),
      })),
    ),
    ...(wellFormed.clients ?? []).flatMap(({ metadata = {}, ...client }, index) =>
      [...findIdProblems(client.id, clientRules), ...findClientProblems({ ...client, metadata }, clientRules)].map(
        ({ path, ...problem }) => ({
          ...problem,
          path: seedPath('clients', index, ...path.split('/').slice(1)),
        }),
      ),
    ),
  ];
}

const findAttributeProblems = ({ tenants = [] }: Seed, rules: AttributeRules | undefined): readonly ConfigProblem[] =>
  tenants.flatMap(({ persons = [] }, tenant) =>
    persons.flatMap(({ attributes = {} }, person) => {
      const problem = rules?.problemOf(attributes);
      if (problem === undefined) return [];
      const path = seedPath('tenants', tenant, 'persons', person, 'attributes', ...problem.path.split('/').slice(1));
      return [{ ...problem, path }];
    }),
  );
