/** Client metadata as products show it: other spellings of names and values, if they have one meaning. */

import type { Client } from '../../store/records/records.js';
import type { ClientRules } from '../context.js';
import { type MetadataWarning, MOST_WARNINGS, usableKeys } from './client-keys.js';
import { isObject, ownMetadataNames, spellingsOf, uriLists } from './client-metadata.js';

/** Metadata, or a JSON Merge Patch of it. */
type Written = Readonly<Record<string, unknown>>;
type SpellingRules = Pick<ClientRules, 'addedMetadata'>;
type Read = (value: unknown, path: string) => unknown;

const signing = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA HS256 HS384 HS512 none'.split(' ');
const valuesByMember: Readonly<Record<string, readonly string[]>> = {
  application_type: ['web', 'native'],
  grant_types: ['authorization_code', 'implicit', 'refresh_token', 'client_credentials'],
  response_modes: ['query', 'fragment', 'form_post'],
  response_types: ['code', 'id_token', 'token', 'none'],
  subject_type: ['public', 'pairwise'],
  token_endpoint_auth_method: [
    ...['client_secret_basic', 'client_secret_post', 'client_secret_jwt', 'private_key_jwt', 'none'],
    ...['tls_client_auth', 'self_signed_tls_client_auth'],
  ],
};
const lists: ReadonlySet<string> = new Set([
  ...uriLists,
  ...['contacts', 'default_acr_values', 'grant_types', 'response_modes', 'response_types'],
]);
/** Members of the record itself. No spelling of their names is metadata. */
const ofRecord: ReadonlySet<string> = new Set(['client_id', 'client_name', 'client_secret']);

const spellingsByMember = new Map(Object.entries(valuesByMember).map(([name, values]) => [name, spellingsOf(values)]));
const spellingsOfSigning = spellingsOf(signing);
const valuesOf = (name: string): ReturnType<typeof spellingsOf> | undefined =>
  spellingsByMember.get(name) ?? (/_(?:signed_response|signing)_alg$/.test(name) ? spellingsOfSigning : undefined);

/** Client metadata in the spelling of the standards, with warnings. */
export interface UnderstoodMetadata {
  readonly metadata: Client['metadata'];
  readonly warnings: readonly MetadataWarning[];
}

/**
 * Returns metadata, or a JSON Merge Patch of metadata, in the spelling of the standards, without unusable JWKs that nothing needs. A part without
 * a meaning, or with more than one, stays unchanged, so that the checks of a client refuse the part.
 * @param before the metadata that a patch changes
 * @throws IdpError `invalid_record` if no usable JWK is left, or none for an authentication method or an algorithm that needs one.
 */
export function understoodMetadata(written: Written, before: Client['metadata'], rules: SpellingRules): UnderstoodMetadata {
  const { metadata, warnings } = inStandardSpelling(written, rules);
  const { jwks } = metadata;
  if (!isObject(jwks) || !Object.hasOwn(jwks, 'keys')) return { metadata, warnings: warnings.slice(0, MOST_WARNINGS) };
  const { keys, warnings: ofKeys } = usableKeys(patched(before, metadata));
  return { metadata: { ...metadata, jwks: { ...jwks, keys } }, warnings: [...warnings, ...ofKeys].slice(0, MOST_WARNINGS) };
}

function inStandardSpelling(written: Written, { addedMetadata }: SpellingRules): UnderstoodMetadata {
  const warnings: MetadataWarning[] = [];
  const warn = (path: string, reason: string): void => void warnings.push({ path, reason });
  const spelled = spellingsOf([...ownMetadataNames, ...(addedMetadata?.keys() ?? [])]);
  const meanings = Object.keys(written).map((name) => spelled(name) ?? name);
  const times = new Map<string, number>();
  for (const name of meanings) times.set(name, (times.get(name) ?? 0) + 1);
  const metadata = Object.entries(written).map(([given, value], index) => {
    const meant = meanings[index] ?? given;
    // Two spellings of one name in one document could mean two things.
    const name = times.get(meant) === 1 && !ofRecord.has(meant) ? meant : given;
    const path = `/metadata/${given}`;
    if (name !== given) warn(path, `It is read as ${name}.`);
    return [name, addedMetadata?.has(name) ? value : metadataValue(name, value, path, warn)] as const;
  });
  return { metadata: Object.fromEntries(metadata), warnings };
}

function metadataValue(name: string, value: unknown, path: string, warn: (path: string, reason: string) => void): unknown {
  const isUri = /_uris?$/.test(name);
  const values = valuesOf(name);
  const read: Read = (one, valuePath) => {
    if (typeof one !== 'string') return one;
    const text = isUri || values ? one.trim() : one;
    const words = text.split(/\s+/);
    const next = values ? words.map((word) => values(word) ?? word).join(' ') : text;
    if (next !== one) warn(valuePath, next === one.trim() ? 'White space around it is left out.' : `It is read as ${next}.`);
    return next;
  };
  if (name === 'scope' && Array.isArray(value) && value.every(isScope)) {
    warn(path, 'The list is read as one string, with a space between scopes.');
    return value.join(' ');
  }
  if (Array.isArray(value)) return value.map((one, index) => read(one, `${path}/${index}`));
  const one = read(value, path);
  if (!lists.has(name) || typeof one !== 'string' || one === '') return one;
  warn(path, 'It is read as a list with one element.');
  return [one];
}

const isScope = (value: unknown): boolean => typeof value === 'string' && /^\S+$/.test(value);

/** Returns the metadata after a JSON Merge Patch, with the members on which JWKs depend. */
const patched = (before: Client['metadata'], patch: Written): Client['metadata'] =>
  Object.fromEntries(Object.entries({ ...before, ...patch }).filter(([, value]) => value !== null));
