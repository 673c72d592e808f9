/** Problems of client metadata by the schema of oidc-provider. The problems are found when a client is written, not at its first request. */

import type Provider from 'oidc-provider';
import { type InputProblem, ownMetadataNames } from '../../directory/index.js';
import type { Client } from '../../store/records/records.js';
import { ownMember } from '../../text/own-member.js';
import type { OidcParts } from '../context.js';
import { judgeMetadata } from '../upstream/client.js';
import { noSecret } from './clients.js';
import { createMetadataOf, findProfileProblems } from './fapi.js';

/** Members for problems whose texts name no member. */
const subjects: readonly (readonly [words: RegExp, name: string])[] = [
  [/sector identifier/, 'sector_identifier_uri'],
  [/certificate subject value|token endpoint authentication methods/, 'token_endpoint_auth_method'],
  [/JSON Web Key Set/, 'jwks'],
  [/proof of possession/, 'dpop_bound_access_tokens'],
];

/** Members that the service or an extension serves without oidc-provider. */
const ownMembers: ReadonlySet<string> = new Set([
  'frontchannel_logout_session_required',
  'frontchannel_logout_uri',
  'introspection_signed_response_alg',
  'request_uris',
  'subject_type',
]);

/** Paths of members that the record does not store as metadata. */
const paths: Readonly<Record<string, string>> = { client_id: '/id', client_name: '/name' };

/**
 * Returns all problems, each at its member. oidc-provider reports only the first problem. So the member is removed and the rest is checked again, until an
 * invalid stored member hides no other problem.
 *
 * If FAPI 2.0 applies, members that contradict the profile are problems too.
 */
export function findSchemaProblems(
  provider: Provider,
  client: Client,
  parts: Pick<OidcParts, 'options' | 'isFapi2'>,
): readonly InputProblem[] {
  const metadata: Record<string, unknown> = { ...createMetadataOf(parts)(client), client_secret: noSecret };
  let ofProfile: readonly InputProblem[] = [];
  const problems = new Map<string, string>();
  for (;;) {
    const judgement = judgeMetadata(provider, metadata);
    if ('known' in judgement) {
      for (const name of unserved(client.metadata, judgement.known))
        if (!problems.has(name)) problems.set(name, 'nothing, because its feature is off here');
      if (parts.isFapi2(client))
        ofProfile = findProfileProblems(client, judgement.known as Record<string, unknown>, !parts.options.production);
      break;
    }
    const { problem: words } = judgement;
    const name = memberIn(words, metadata);
    // The member was removed here, so its absence is not another problem.
    if (problems.has(name)) break;
    problems.set(name, expectedIn(words, name));
    if (!Object.hasOwn(metadata, name)) break;
    delete metadata[name];
  }
  const ofSchema = [...problems].map(([name, expected]) => ({
    path: ownMember(paths, name) ?? (name === '' ? '/metadata' : `/metadata/${name}`),
    expected,
  }));
  return [...ofSchema, ...ofProfile.filter(({ path }) => !ofSchema.some((problem) => problem.path === path))];
}

/** Returns the members of the standards that oidc-provider ignores, because their feature is off. A member that is `false` needs no feature. */
const unserved = (metadata: Client['metadata'], known: object): readonly string[] =>
  ownMetadataNames.filter(
    (name) => metadata[name] !== undefined && metadata[name] !== false && !Object.hasOwn(known, name) && !ownMembers.has(name),
  );

/** Returns the member of a problem: the first member that the problem's text names. */
function memberIn(words: string, metadata: object): string {
  const named = words.match(/[a-z]+(?:_[a-z0-9]+)*/g) ?? [];
  const known = named.find((name) => Object.hasOwn(metadata, name) || /_(?:uris?|alg|enc|types|method)$|^jwks$/.test(name));
  return subjects.find(([about]) => about.test(words))?.[1] ?? known ?? '';
}

/** Returns the expected form of the member. */
function expectedIn(words: string, name: string): string {
  const rest = words.startsWith(`${name} `) ? words.slice(name.length + 1) : words;
  if (/no values are allowed/.test(rest)) return 'nothing, because no value is served here';
  if (rest === 'is mandatory property') return 'a value, which is required';
  return rest.replace(/^must be /, '').replace(/^(?:can|must) only contain /, 'only ');
}
