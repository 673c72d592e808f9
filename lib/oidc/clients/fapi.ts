/**
 * The FAPI 2.0 Security Profile: the settings that the profile implies, and the requests that the profile refuses. The profile applies to clients whose
 * record, or the option `fapi`, is `'2.0'`.
 *
 * The settings are the defaults of the metadata of these clients. A record that contradicts one of the settings is refused when the record is written. The
 * client of an older row is refused at each use, because oidc-provider checks few of the settings.
 * @see FAPI 2.0 Security Profile §5.3.2, §5.4
 */
import { type Client, errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { Caller } from '../../contract/clients/caller.js';
import type { InputProblem } from '../../directory/index.js';
import { isLoopback } from '../../fetch/loopback.js';
import type { ResolvedOptions } from '../../options/defaults.js';
import type { Client as ClientRecord } from '../../store/records/records.js';
import { canParseUrl } from '../../text/can-parse-url.js';
import type { InternalClients, OidcParts } from '../context.js';
import { clientMetadata, clientOf, isClient, type MetadataOf } from './clients.js';

type Metadata = Readonly<Record<string, unknown>>;

/** Algorithms of JWTs that a client of the profile signs or gets. @see FAPI 2.0 Security Profile §5.4.1 */
const algorithms: ReadonlySet<unknown> = new Set(['PS256', 'ES256', 'EdDSA', 'Ed25519']);
const authMethods: ReadonlySet<unknown> = new Set(['private_key_jwt', 'tls_client_auth', 'self_signed_tls_client_auth']);

/** Maximum seconds for which a code may be valid. @see FAPI 2.0 Security Profile §5.3.2.1 */
export const MAX_CODE_SECONDS = 60;

type Features = ResolvedOptions['features'];
type Profile = '1.0 Final' | '2.0' | undefined;

/** Creates the function that returns whether the profile applies to a client. API resources, and internal clients, are exempt. */
export const createProfileRule =
  ({ fapi }: Pick<ResolvedOptions, 'fapi'>, { isInternal }: Pick<InternalClients, 'isInternal'>): OidcParts['isFapi2'] =>
  (record) =>
    record !== undefined && (record.fapi ?? fapi) === '2.0' && !isInternal(record);

/** Returns the profile of a client for oidc-provider. @throws TypeError if a function of the host returns another profile than FAPI 1.0 */
export const createProfileOf =
  ({ options: { features }, internalClients, isFapi2 }: Pick<OidcParts, 'options' | 'internalClients' | 'isFapi2'>) =>
  (ctx: KoaContextWithOIDC, client: Client | undefined): Profile => {
    const record = clientOf(client);
    if (!record || internalClients.isInternal(record)) return undefined;
    if (isFapi2(record)) return '2.0';
    const { fapi } = features;
    if (!fapi?.enabled) return undefined;
    const profile: unknown = typeof fapi.profile === 'function' ? fapi.profile(ctx, client) : fapi.profile;
    if (profile === undefined || profile === '1.0 Final') return profile;
    throw new TypeError(
      "features.fapi.profile may return '1.0 Final' or nothing. For FAPI 2.0, set fapi: '2.0' in the record of the client.",
    );
  };

/** Returns the metadata of clients, with the members that the profile implies. */
export const createMetadataOf =
  ({ options: { features }, isFapi2 }: Pick<OidcParts, 'options' | 'isFapi2'>): MetadataOf =>
  (client) =>
    clientMetadata(client, isFapi2(client) ? profileMetadata(client, features) : {});

/** Returns the metadata that the profile implies for members that the client does not set. */
const profileMetadata = ({ metadata }: Pick<ClientRecord, 'metadata'>, { dPoP, mTLS }: Features): Metadata => ({
  require_pushed_authorization_requests: true,
  ...(metadata.tls_client_certificate_bound_access_tokens === true
    ? {}
    : dPoP?.enabled === false && mTLS?.certificateBoundAccessTokens === true
      ? { tls_client_certificate_bound_access_tokens: true }
      : { dpop_bound_access_tokens: true }),
  id_token_signed_response_alg: 'ES256',
  authorization_signed_response_alg: 'ES256',
});

/**
 * Returns the algorithm that signs introspection responses to a caller. If the option `fapi` applies the profile to all clients, API resources get ES256 too.
 * @see RFC 9701 §6, FAPI 2.0 Security Profile §5.4.1
 */
export const createIntrospectionAlgorithm =
  ({ options: { fapi }, isFapi2 }: Pick<OidcParts, 'options' | 'isFapi2'>) =>
  (caller: Caller): 'RS256' | 'ES256' => {
    const isOfProfile = isClient(caller) ? isFapi2(caller) : fapi === '2.0';
    const registered = isClient(caller) ? caller.metadata.introspection_signed_response_alg : caller.introspectionSignedResponseAlg;
    return isOfProfile || registered === 'ES256' ? 'ES256' : 'RS256';
  };

/** Rules for metadata in the form of oidc-provider, with defaults: the expected value of each member, by its name. */
const rules: readonly (readonly [
  name: string,
  expected: string,
  holds: (value: unknown, metadata: Metadata, mayBeLocal: boolean) => boolean,
])[] = [
  ['token_endpoint_auth_method', 'private_key_jwt, tls_client_auth or self_signed_tls_client_auth', (value) => authMethods.has(value)],
  [
    'require_pushed_authorization_requests',
    'true',
    (value, { response_types: types }) => value === true || (Array.isArray(types) && types.length === 0),
  ],
  [
    'dpop_bound_access_tokens',
    'true, or tls_client_certificate_bound_access_tokens true',
    (value, { tls_client_certificate_bound_access_tokens: isBound }) => value === true || isBound === true,
  ],
  ['response_types', 'code alone', (value) => listOf(value).every((type) => type === 'code')],
  ['grant_types', 'a list without implicit', (value) => !listOf(value).includes('implicit')],
  [
    'redirect_uris',
    'https, or http at a loopback address for a native client',
    (value, metadata, mayBeLocal) => listOf(value).every(isEncrypted(metadata, mayBeLocal)),
  ],
  ...[
    'id_token_signed_response_alg',
    'authorization_signed_response_alg',
    'userinfo_signed_response_alg',
    'introspection_signed_response_alg',
    'request_object_signing_alg',
    'backchannel_authentication_request_signing_alg',
    'token_endpoint_auth_signing_alg',
  ].map((name) => [name, [...algorithms].join(', '), (value: unknown) => value === undefined || algorithms.has(value)] as const),
];

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** @param mayBeLocal whether web clients may also use a loopback address, which is allowed outside production */
const isEncrypted =
  ({ application_type: type }: Metadata, mayBeLocal: boolean) =>
  (uri: unknown): boolean => {
    if (typeof uri !== 'string' || !canParseUrl(uri)) return false;
    const { protocol, hostname } = new URL(uri);
    return protocol !== 'http:' || ((type === 'native' || mayBeLocal) && isLoopback(hostname));
  };

/**
 * Returns metadata in the form that {@link rules} check. oidc-provider drops the grant type `implicit`, and does not know the algorithm of introspection
 * responses.
 */
const judged = (known: Metadata, { metadata: { introspection_signed_response_alg, grant_types } }: ClientRecord): Metadata => ({
  ...known,
  introspection_signed_response_alg,
  grant_types: grant_types ?? known.grant_types,
});

/**
 * Returns all members of a record that contradict the profile, each at its path.
 * @param known the metadata as oidc-provider knows it, with the defaults of {@link createMetadataOf}
 * @param mayBeLocal whether web clients may be at a loopback address too: outside production
 */
export function findProfileProblems(record: ClientRecord, known: Metadata, mayBeLocal: boolean): readonly InputProblem[] {
  const metadata = judged(known, record);
  const because = ', because FAPI 2.0 applies to the client (fapi)';
  return [
    ...(record.requirePkce === false ? [{ path: '/requirePkce', expected: `true or nothing${because}` }] : []),
    ...(record.allowPlainPkce ? [{ path: '/allowPlainPkce', expected: `false${because}` }] : []),
    ...rules.flatMap(([name, expected, holds]) =>
      holds(metadata[name], metadata, mayBeLocal) ? [] : [{ path: `/metadata/${name}`, expected: expected + because }],
    ),
  ];
}

/** Problems of clients, stored by the client object. A client object is made again when its record changes. */
const problemsOf = new WeakMap<Client, string | undefined>();

/** Returns the first problem of a client's metadata. */
function problemOf(client: Client, mayBeLocal: boolean): string | undefined {
  if (!problemsOf.has(client)) {
    const metadata = judged(client.metadata() as Metadata, clientOf(client) as ClientRecord);
    const problem = rules.find(([name, , holds]) => !holds(metadata[name], metadata, mayBeLocal));
    problemsOf.set(client, problem && `metadata ${problem[0]} of this client contradicts FAPI 2.0. Set it to ${problem[1]}.`);
  }
  return problemsOf.get(client);
}

/**
 * Creates the check that refuses every request of a client of the profile whose settings contradict the profile. The check runs where clients authenticate,
 * and at the authorization endpoint.
 * @throws UnauthorizedClient
 */
export const createProfileCheck =
  ({ options: { production } }: Pick<OidcParts, 'options'>) =>
  ({ oidc }: KoaContextWithOIDC): void => {
    const { client } = oidc;
    const problem = client && oidc.isFapi('2.0') && problemOf(client, !production);
    if (problem !== undefined) throw new errors.UnauthorizedClient(problem);
  };

/**
 * Creates the check of a request that began before a rule applied to its client. The check applies the settings of the profile, and the rule that requests
 * are pushed.
 * @throws UnauthorizedClient, InvalidRequest
 */
export function createResumedCheck(parts: Pick<OidcParts, 'options'>): (ctx: KoaContextWithOIDC) => void {
  const checkProfile = createProfileCheck(parts);
  return (ctx) => {
    const { route, client, entities } = ctx.oidc;
    if (route !== 'resume' || !client) return;
    checkProfile(ctx);
    const { parJti } = (entities.Interaction ?? {}) as { readonly parJti?: string };
    if (client.requirePushedAuthorizationRequests && parJti === undefined)
      throw new errors.InvalidRequest('The request was not pushed, and the client must push its requests now. Push it (PAR).');
  };
}

/** Algorithms of a client's signatures, as text. */
export const ALGORITHMS_OF_PROFILE = 'PS256, ES256 or EdDSA';

/** Returns whether the profile allows the algorithm of a JWT that a client signs. */
export const isAlgorithmOfProfile = (alg: unknown): boolean => algorithms.has(alg);

/** Returns whether the request is of a client of the profile. */
export const isOfProfile = ({ oidc }: KoaContextWithOIDC): boolean => oidc.isFapi('2.0') !== undefined;
