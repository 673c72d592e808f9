/** Problems of extensions, claims and the seed, which checks of single options cannot find. */
import type { FoundProblems } from '../config-problem.js';
import { findExtensionProblems, findIdentityScopes, type Standard } from '../contract/assembly/checks.js';
import { clientRulesOf, seedFormsOf } from '../contract/assembly/contributions.js';
import { type AttributeRules, findSeedProblems, ownMetadataNames } from '../directory/index.js';
import { createFetchProblem } from '../fetch/fetch-rules.js';
import { routes } from '../oidc/configuration.js';
import type { IdentityProviderOptions } from '../options/options.js';

/** @param own claims and extensions of the service itself. */
export async function findProblems(
  input: IdentityProviderOptions,
  own: Pick<Standard, 'claims' | 'extensions'>,
  attributes?: AttributeRules,
): Promise<FoundProblems> {
  const { extensions } = own;
  const { issuer, seed, directory, configure, outgoing, fapi, extensions: given } = (input ?? {}) as Partial<IdentityProviderOptions>;
  const production = process.env.NODE_ENV === 'production';
  // Another check reports a wrong value.
  const allowHosts = [outgoing?.allowHosts ?? []].flat().filter((host) => typeof host === 'string');
  const standard = { ...own, endpoints: Object.keys(routes), clientMetadata: ownMetadataNames };
  const { invalid = [], conflicts = [] } = findExtensionProblems(input, standard);
  const ofSeed = await findSeedProblems(seed, {
    issuer: String(issuer),
    isAlone: directory === undefined,
    clientRules: clientRulesOf(
      { configure, production, fapi },
      invalid.length > 0 ? [] : [...extensions, ...(given ?? [])],
      createFetchProblem({ allowHosts, production }),
    ),
    identityScopes: findIdentityScopes(input, standard),
    attributes,
    formsOfExtensions: seedFormsOf(invalid.length > 0 ? extensions : [...extensions, ...(given ?? [])]),
  });
  return { invalid: [...invalid, ...ofSeed], conflicts };
}
