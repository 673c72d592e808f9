/** Checks of client metadata at each write, because oidc-provider would report a mistake only when the client is used. */

import { isDeepStrictEqual } from 'node:util';
import { isHttpsOrLocal, isLoopback } from '../../fetch/loopback.js';
import { nearestName } from '../../nearest-name.js';
import type { Client } from '../../store/records/records.js';
import { canParseUrl } from '../../text/can-parse-url.js';
import { ownMember } from '../../text/own-member.js';
import { isPlainHost } from '../../text/plain-host.js';
import type { ClientRules } from '../context.js';

type Metadata = Client['metadata'];

/** A problem of a record. The path is a JSON Pointer. The value is never repeated. */
export interface RecordProblem {
  readonly path: string;
  readonly expected: string;
  readonly didYouMean?: string;
}

const encrypted = ['id_token', 'userinfo', 'introspection', 'authorization'].flatMap((message) => [
  `${message}_encrypted_response_alg`,
  `${message}_encrypted_response_enc`,
]);

/** @see RFC 7591 §2, OpenID Connect Registration §2, RFC 8705, 9101, 9126, 9449 and 9701, JARM §3, and the logout specifications */
const knownNames: ReadonlySet<string> = new Set([
  ...`application_type authorization_signed_response_alg backchannel_logout_session_required backchannel_logout_uri client_id_issued_at
  client_secret_expires_at client_uri contacts default_acr_values default_max_age dpop_bound_access_tokens frontchannel_logout_session_required
  frontchannel_logout_uri grant_types id_token_signed_response_alg initiate_login_uri introspection_signed_response_alg jwks jwks_uri logo_uri
  policy_uri post_logout_redirect_uris redirect_uris request_object_signing_alg request_uris require_auth_time
  require_pushed_authorization_requests require_signed_request_object response_modes response_types scope sector_identifier_uri subject_type
  tls_client_auth_san_dns tls_client_auth_san_email tls_client_auth_san_ip tls_client_auth_san_uri tls_client_auth_subject_dn
  tls_client_certificate_bound_access_tokens token_endpoint_auth_method token_endpoint_auth_signing_alg tos_uri use_mtls_endpoint_aliases
  userinfo_signed_response_alg`.split(/\s+/),
  ...encrypted,
]);

const noEncryptedRequests = 'nothing, because request objects are not encrypted here';
/** Members of the standards that are refused, with the reason. */
const refused: Readonly<Record<string, string>> = {
  client_id: 'nothing, because it is the id of the record',
  client_name: 'nothing, because it is the name of the record',
  client_secret: 'nothing, because metadata is stored unhashed; the field secret is hashed',
  request_object_encryption_alg: noEncryptedRequests,
  request_object_encryption_enc: noEncryptedRequests,
};

/** Names that the service supports or refuses itself. */
export const ownMetadataNames: readonly string[] = [...knownNames, ...Object.keys(refused)];

const refusedGrants: Readonly<Record<string, string>> = {
  'urn:ietf:params:oauth:grant-type:device_code': 'a grant type that the service supports, which the device flow is not',
};

/** @see RFC 7591 §2, `token_endpoint_auth_method` */
export const authMethod = (metadata: Metadata): unknown => metadata.token_endpoint_auth_method ?? 'client_secret_basic';

/** Returns a problem for an id that an internal client of an extension could have, because the internal client would answer in the client's place. */
export function findIdProblems(id: string | undefined, { takenPrefixes = [] }: ClientRules): readonly RecordProblem[] {
  const taken = takenPrefixes.find((prefix) => id?.startsWith(prefix));
  return taken === undefined
    ? []
    : [{ path: '/id', expected: `an id that does not begin with ${taken}, as those of an extension's applications do` }];
}

/**
 * Returns the response types of a client: the types in its metadata, or `code`. A response needs a redirect URI, and oidc-provider would refuse every
 * request of a client without one. So a client without redirect URIs has no response types by default. @see RFC 7591 §2
 */
export const responseTypesOf = ({ response_types: own, redirect_uris: redirectUris }: Metadata): readonly unknown[] =>
  [own ?? (isFilled(redirectUris) ? ['code'] : [])].flat();

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Returns whether a JWK of a client is or has a secret. A JWK with a secret is refused, never left out, because its holder must replace it.
 * @see RFC 7517 §9.2
 */
export const isSecretKey = (key: unknown): boolean => isObject(key) && ['d', 'k', 'priv'].some((member) => Object.hasOwn(key, member));

const hasSecretKey = ({ jwks }: Metadata): boolean => isObject(jwks) && Array.isArray(jwks.keys) && jwks.keys.some(isSecretKey);

const isFilled = (list: unknown): boolean => Array.isArray(list) && list.length > 0;

/** Members of a client that these rules check. */
export type CheckedClient = Pick<Client, 'metadata' | 'requirePkce' | 'postRegistrationUri'> & Partial<Pick<Client, 'corsOrigins'>>;

/** Returns all problems of a client that can be found from its record alone. */
export function findClientProblems(client: CheckedClient, rules: ClientRules): readonly RecordProblem[] {
  const { metadata, requirePkce } = client;
  const problems = Object.keys(metadata).flatMap((name) => problemOfName(name, metadata[name], rules) ?? []);
  const report = (path: string, expected: string): void => void problems.push({ path, expected });
  // @see RFC 9700 §2.1.1, RFC 8252 §6
  if (requirePkce === false && (authMethod(metadata) === 'none' || metadata.application_type === 'native'))
    report('/requirePkce', 'true or nothing for a public or native client');
  const { introspection_signed_response_alg: alg = 'RS256', client_secret_expires_at: secretEnd = 0 } = metadata;
  if (alg !== 'RS256' && alg !== 'ES256') report('/metadata/introspection_signed_response_alg', 'RS256 or ES256');
  if (hasSecretKey(metadata)) report('/metadata/jwks', 'public keys alone; replace a key whose secret member (d, k or priv) was sent');
  if (Array.isArray(metadata.scope)) report('/metadata/scope', 'one string, with a space between scopes');
  // Secrets belong to the record, and expire when they are rotated.
  if (secretEnd !== 0) report('/metadata/client_secret_expires_at', 'nothing, or 0');
  const problemsByName = Object.entries(rules.problemsOfMetadata?.({ ...metadata, response_types: responseTypesOf(metadata) }) ?? {});
  const ofExtensions = problemsByName.map(([name, expected]) => ({ path: `/metadata/${name}`, expected }));
  return [
    ...problems,
    ...ofExtensions,
    ...listProblems(metadata, rules),
    ...responseProblems(metadata),
    ...logoutUriProblems(metadata),
    ...pageUriProblems(metadata),
    ...fetchedUriProblems(metadata, rules),
    ...postRegistrationProblems(client, rules),
    ...originProblems(client),
  ];
}

/** Returns the problems of {@link findClientProblems}, and the problems that oidc-provider finds for other members. */
export function findAllClientProblems(client: Client, rules: ClientRules): readonly RecordProblem[] {
  const problems = findClientProblems(client, rules);
  const wrong = new Set(problems.map(({ path }) => memberOf(path)));
  const ofSchema = rules.problemsOfSchema?.(client) ?? [];
  return [...problems, ...ofSchema.filter(({ path }) => !wrong.has(memberOf(path)))];
}

/**
 * Returns the problems that a change causes, and the problems of the members that it writes. An older problem does not prevent a change of another member,
 * because the rule may be newer than the record.
 */
export function findProblemsOfChange(before: Client, after: Client, rules: ClientRules): readonly RecordProblem[] {
  const problems = findAllClientProblems(after, rules);
  if (problems.length === 0) return problems;
  const earlierProblems = new Set(findAllClientProblems(before, rules).map(({ path, expected }) => `${path} ${expected}`));
  const isWritten = (path: string): boolean => !isDeepStrictEqual(valueAt(before, memberOf(path)), valueAt(after, memberOf(path)));
  return problems.filter(({ path, expected }) => isWritten(path) || !earlierProblems.has(`${path} ${expected}`));
}

/** Returns the member of the record, or of its metadata, that contains a path. */
const memberOf = (path: string): string =>
  path
    .split('/')
    .slice(0, path.startsWith('/metadata/') ? 3 : 2)
    .join('/');

function valueAt(client: Client, member: string): unknown {
  const [, first = '', name] = member.split('/');
  const value = (client as unknown as Readonly<Record<string, unknown>>)[first];
  return name === undefined ? value : (value as Readonly<Record<string, unknown>>)[name];
}

function problemOfName(name: string, value: unknown, { ownMetadata, addedMetadata }: ClientRules): RecordProblem | undefined {
  const path = `/metadata/${name}`;
  const check = addedMetadata?.get(name);
  if (check) {
    const expected = check(value);
    return expected === undefined ? undefined : { path, expected };
  }
  if (knownNames.has(name)) return undefined;
  // Records have only names in the spelling of the standards, so that each meaning has one member.
  const names = [...knownNames, ...(addedMetadata?.keys() ?? [])];
  const reason = ownMember(refused, name) ?? ownMember(refused, spellingsOf(Object.keys(refused))(name) ?? name);
  if (reason !== undefined) return { path, expected: reason };
  const didYouMean = spellingsOf(names)(name) ?? nearestName(name, names);
  if (didYouMean !== undefined) return { path, expected: 'the name of client metadata', didYouMean };
  return ownMetadata ? undefined : { path, expected: 'the name of client metadata' };
}

/** Returns a function that returns which of the names a text spells: `redirectUris`, `RedirectURLs` and `redirect-uris` spell `redirect_uris`. */
export function spellingsOf(names: readonly string[]): (text: string) => string | undefined {
  const canonical = (text: string): string =>
    text
      .replace(/[_-]/g, '')
      .toLowerCase()
      .replace(/url(s?)$/, 'uri$1');
  const byForm = new Map(names.map((name) => [canonical(name), name]));
  return (text) => byForm.get(canonical(text));
}

export const uriLists = ['redirect_uris', 'post_logout_redirect_uris', 'request_uris'];
const lists = [...uriLists, 'response_types', 'grant_types'];

/** @see RFC 7591 §2 */
function listProblems(metadata: Metadata, { grantTypes }: ClientRules): readonly RecordProblem[] {
  return lists.flatMap((name): readonly RecordProblem[] => {
    const path = `/metadata/${name}`;
    const { [name]: list = [] } = metadata;
    if (!Array.isArray(list)) return [{ path, expected: 'a list' }];
    return list.flatMap((value, index) => {
      const expected = name.endsWith('_uris') ? expectedUri(name, value, metadata) : expectedText(name, value, grantTypes);
      return expected === undefined ? [] : [{ path: `${path}/${index}`, expected }];
    });
  });
}

const responseProblems = (metadata: Metadata): readonly RecordProblem[] =>
  responseTypesOf(metadata).length > 0 && !isFilled(metadata.redirect_uris)
    ? [{ path: '/metadata/redirect_uris', expected: 'at least one URI, because response_types requires one' }]
    : [];

function expectedText(name: string, value: unknown, served: ClientRules['grantTypes']): string | undefined {
  if (typeof value !== 'string') return 'a string';
  if (served?.has(value)) return undefined;
  if (name === 'response_types' && value === 'none') return 'a response type with a response, unlike none';
  return name === 'grant_types' ? ownMember(refusedGrants, value) : undefined;
}

/** Maximum characters of a URI in a request. Longer URIs are refused before they are parsed. */
export const LONGEST_URI = 2048;

const scripted = new Set(['javascript:', 'vbscript:', 'data:', 'blob:', 'file:', 'about:']);

/** Returns the expected form of the URI, by the rules of oidc-provider. @see RFC 6749 §3.1.2, RFC 8252 §7, OpenID Connect Registration §2 */
function expectedUri(name: string, value: unknown, metadata: Metadata): string | undefined {
  if (typeof value !== 'string' || value.length > LONGEST_URI || !canParseUrl(value))
    return `an absolute URI of at most ${LONGEST_URI} characters`;
  if (name === 'request_uris') return undefined;
  const { protocol, hostname, href, host } = new URL(value);
  const isWeb = protocol === 'http:' || protocol === 'https:';
  if (/[\s\\]/.test(value)) return 'a URI without white space and \\\\';
  if (isWeb ? !isPlainHost(host) : host.includes('*')) return 'a URI whose host is a name or an address, without *';
  if (isWeb && !/^https?:\/\/[^/]/i.test(value)) return 'a URI with // and a host after the scheme';
  if (/^[^:]*:\/\/[^/?#]*@/.test(value)) return 'a URI without user name and password';
  if (href.includes('#')) return 'a URI without fragment';
  if (metadata.application_type === 'native') {
    if (protocol === 'http:' && !isLoopback(hostname)) return 'https, a scheme of the application, or http at a loopback address';
    if (protocol === 'https:' && isLoopback(hostname)) return 'http at a loopback address, or https elsewhere';
    // Browsers and systems give a meaning to schemes without a full stop, for example `view-source:`. @see RFC 8252 §7.1, §8.4
    return isWeb || protocol.includes('.')
      ? undefined
      : 'https, http at a loopback address, or a scheme of the application with a full stop, such as com.example.app:';
  }
  if (!isWeb) return "http or https; a scheme of its own needs application_type 'native'";
  return isImplicit(metadata) && protocol === 'http:' && !isLoopback(hostname) ? 'https, for a client with the implicit grant' : undefined;
}

/** Returns the problems of the URIs to which browsers return from an invitation. */
function postRegistrationProblems(
  { postRegistrationUri: uri }: CheckedClient,
  { isProduction = false }: ClientRules,
): readonly RecordProblem[] {
  if (uri === undefined) return [];
  const url = canParseUrl(uri) ? new URL(uri) : undefined;
  if (url && isPlain(url) && isHttpsOrLocal(url, isProduction)) return [];
  return [{ path: '/postRegistrationUri', expected: `an https URL${isProduction ? '' : ', or http at a loopback address'}` }];
}

/**
 * Returns the problems of origins, which have to be as browsers send them. Applications in a web view have their own schemes: `capacitor://localhost`,
 * `ionic://localhost`.
 * @see RFC 6454 §6.2, Fetch §3.2
 */
const originProblems = ({ corsOrigins = [] }: CheckedClient): readonly RecordProblem[] =>
  corsOrigins.flatMap((origin, index) => {
    const url = origin.length <= LONGEST_URI && canParseUrl(origin) ? new URL(origin) : undefined;
    const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:';
    const isRight =
      url && !scripted.has(url.protocol) && isPlainHost(url.host) && origin === (isWeb ? url.origin : `${url.protocol}//${url.host}`);
    return isRight
      ? []
      : [
          {
            path: `/corsOrigins/${index}`,
            expected: 'an origin as browsers send it: a scheme, a host, and a port that is not the default one',
          },
        ];
  });

/** Returns the problems of URLs that the service reads or calls. */
function fetchedUriProblems(metadata: Metadata, { fetchProblem }: ClientRules): readonly RecordProblem[] {
  const check = (path: string, uri: unknown) => {
    const expected = typeof uri === 'string' ? fetchProblem?.(uri) : undefined;
    return expected === undefined ? [] : [{ path, expected }];
  };
  const { request_uris: requestUris } = metadata;
  return [
    ...['jwks_uri', 'backchannel_logout_uri', 'sector_identifier_uri'].flatMap((name) => check(`/metadata/${name}`, metadata[name])),
    ...(Array.isArray(requestUris) ? requestUris.flatMap((uri, index) => check(`/metadata/request_uris/${index}`, uri)) : []),
  ];
}

/** Returns whether a URL has a plain host, and neither user name nor password. */
const isPlain = ({ host, username, password }: URL): boolean => isPlainHost(host) && username === '' && password === '';

/** Returns the problems of the URLs of pages for users, and of the logo. @see RFC 7591 §2, OpenID Connect Core 1.0 §4 */
const pageUriProblems = (metadata: Metadata): readonly RecordProblem[] =>
  ['client_uri', 'initiate_login_uri', 'logo_uri', 'policy_uri', 'tos_uri'].flatMap((name) => {
    const value = metadata[name];
    const url = typeof value === 'string' && canParseUrl(value) ? new URL(value) : undefined;
    const isRight = value === undefined || (url && /^https?:$/.test(url.protocol) && isPlain(url));
    return isRight ? [] : [{ path: `/metadata/${name}`, expected: 'an http(s) URL with a host, without user name and password' }];
  });

const isImplicit = ({ grant_types: grants, response_types: types }: Metadata): boolean =>
  [grants].flat().includes('implicit') || [types].flat().some((type) => /\b(?:id_token|token)\b/.test(String(type)));

/** @see OpenID Connect Back-Channel Logout 1.0 §2.2, Front-Channel Logout 1.0 §2 */
function logoutUriProblems({ redirect_uris: redirects, ...metadata }: Metadata): readonly RecordProblem[] {
  const check = (name: string, expected: string, fits: (url: URL) => boolean): readonly RecordProblem[] => {
    const value = metadata[name];
    const url = typeof value === 'string' && canParseUrl(value) ? new URL(value) : undefined;
    const isRight = value === undefined || (url && /^https?:$/.test(url.protocol) && isPlain(url) && url.hash === '' && fits(url));
    return isRight ? [] : [{ path: `/metadata/${name}`, expected }];
  };
  const isOfClient = ({ origin }: URL) =>
    Array.isArray(redirects) && redirects.some((uri) => canParseUrl(uri) && new URL(uri).origin === origin);
  return [
    ...check('backchannel_logout_uri', 'an http(s) URL with a host, without user name, password and fragment', () => true),
    ...check(
      'frontchannel_logout_uri',
      'an http(s) URL with a host, without user name, password and fragment, of the origin of a redirect URI',
      isOfClient,
    ),
  ];
}
