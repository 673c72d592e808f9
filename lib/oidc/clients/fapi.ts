/**
 * The FAPI 2.0 Security Profile, for clients of the feature `fapi`: the settings that it implies, and the requests that it refuses.
 *
 * Where the option names the profile for all clients, the settings are the defaults of their metadata. Where a function names it, a client has them in
 * its own metadata. In both cases a client without them is refused, because oidc-provider checks few of them.
 * @see FAPI 2.0 Security Profile §5.3.2, §5.4
 */
import { type Client, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { isLoopback } from '../../fetch/loopback.js';
import type { ResolvedOptions } from '../../options/defaults.js';
import type { Client as ClientRecord } from '../../store/records/records.js';
import { canParseUrl } from '../../text/can-parse-url.js';
import type { OidcParts } from '../context.js';
import { clientOf } from './clients.js';

type Metadata = Readonly<Record<string, unknown>>;

/** Algorithms of every JWT that a client signs or gets. @see FAPI 2.0 Security Profile §5.4.1 */
const algorithms: ReadonlySet<unknown> = new Set(['PS256', 'ES256', 'EdDSA', 'Ed25519']);
const authMethods: ReadonlySet<unknown> = new Set(['private_key_jwt', 'tls_client_auth', 'self_signed_tls_client_auth']);

/** Seconds that a code may be valid for. @see FAPI 2.0 Security Profile §5.3.2.1 */
export const MAX_CODE_SECONDS = 60;

type Features = Pick<ResolvedOptions, 'features'>['features'];
type Profile = NonNullable<NonNullable<Features['fapi']>['profile']>;

/** Whether the option names the profile for all clients. */
export const isProfileOfAll = ({ fapi }: Features): boolean => fapi?.enabled === true && fapi.profile === '2.0';

/**
 * Returns the profile of a client by the option. API resources, and the applications of the service itself, have none.
 * @param isInternal whether an id is of an application of the service
 */
export const profileFor =
  (profile: Profile, isInternal: (id: string) => boolean): Exclude<Profile, string> =>
  (ctx, client) => {
    const record = clientOf(client);
    if (!record || isInternal(record.id)) return undefined;
    return typeof profile === 'function' ? profile(ctx, client) : profile;
  };

/** Metadata that the profile implies, where the client says nothing of it. */
export const profileMetadata = ({ metadata }: Pick<ClientRecord, 'metadata'>, { dPoP, mTLS }: Features): Metadata => ({
  require_pushed_authorization_requests: true,
  ...(metadata.tls_client_certificate_bound_access_tokens === true
    ? {}
    : dPoP?.enabled === false && mTLS?.certificateBoundAccessTokens === true
      ? { tls_client_certificate_bound_access_tokens: true }
      : { dpop_bound_access_tokens: true }),
  id_token_signed_response_alg: 'ES256',
  authorization_signed_response_alg: 'ES256',
});

/** Rules over metadata as oidc-provider knows it, defaults included: what each member has to be, by its name. */
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

/** @param mayBeLocal whether web clients may be at a loopback address too: outside production */
const isEncrypted =
  ({ application_type: type }: Metadata, mayBeLocal: boolean) =>
  (uri: unknown): boolean => {
    if (typeof uri !== 'string' || !canParseUrl(uri)) return false;
    const { protocol, hostname } = new URL(uri);
    return protocol !== 'http:' || ((type === 'native' || mayBeLocal) && isLoopback(hostname));
  };

/** The first member of metadata that the profile refuses, with what it has to be. @param metadata with the defaults */
const problemIn = (metadata: Metadata, mayBeLocal: boolean) =>
  rules.find(([name, , holds]) => !holds(metadata[name], metadata, mayBeLocal));

/** Problems of clients as they were built; a client is built again when its record changes. */
const problemsOf = new WeakMap<Client, string | undefined>();

function problemOf(client: Client, mayBeLocal: boolean): string | undefined {
  if (!problemsOf.has(client)) {
    const problem = problemIn(client.metadata() as Metadata, mayBeLocal);
    problemsOf.set(client, problem && `FAPI 2.0 requires metadata ${problem[0]} of this client to be ${problem[1]}`);
  }
  return problemsOf.get(client);
}

/**
 * Refuses every request of a client of the profile whose settings are not those of the profile. Runs where clients authenticate, and at the authorization
 * endpoint.
 * @throws UnauthorizedClient
 */
export const createProfileCheck =
  ({ options: { production } }: Pick<OidcParts, 'options'>) =>
  ({ oidc }: KoaContextWithOIDC): void => {
    const { client } = oidc;
    const problem = client && oidc.isFapi('2.0') && problemOf(client, !production);
    if (problem !== undefined) throw new errors.UnauthorizedClient(problem);
  };

/** Whether a JWT of the client is signed as the profile has it. */
export const isSignedForProfile = ({ oidc }: KoaContextWithOIDC, { alg }: { readonly alg?: unknown }): boolean =>
  !oidc.isFapi('2.0') || algorithms.has(alg);

/** Whether the request is of a client of the profile. */
export const isOfProfile = ({ oidc }: KoaContextWithOIDC): boolean => oidc.isFapi('2.0') !== undefined;
