/** Metadata of clients with the CIBA grant. @see CIBA Core §4 */
import { type Client, canParseUrl } from '../../lib/extension-door.js';
import { GRANT_TYPE } from './requests/requests.js';

type Check = (value: unknown, fetchProblem: (url: string) => string | undefined) => string | undefined;

const signingAlgorithms: ReadonlySet<unknown> = new Set(['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519']);

const isHttps = (value: unknown): boolean => {
  const url = typeof value === 'string' && canParseUrl(value) ? new URL(value) : undefined;
  return url !== undefined && url.protocol === 'https:' && url.hash === '' && url.username === '' && url.password === '';
};

export const clientMetadata: Readonly<Record<string, Check>> = {
  backchannel_token_delivery_mode: (value) =>
    value === 'poll' || value === 'ping' ? undefined : 'poll or ping; the mode push is not supported',
  backchannel_client_notification_endpoint(value, fetchProblem) {
    return isHttps(value) ? fetchProblem(String(value)) : 'an https URL without fragment, user name and password';
  },
  backchannel_authentication_request_signing_alg: (value) =>
    signingAlgorithms.has(value) ? undefined : `one of ${[...signingAlgorithms].join(', ')}`,
  backchannel_user_code_parameter: (value) => (value === false ? undefined : 'false, because user codes are not supported'),
};

const keyMethods: ReadonlySet<unknown> = new Set(['private_key_jwt', 'self_signed_tls_client_auth']);

/** Returns the problems of metadata that contradict each other, by member. */
export function clientProblems(metadata: Client['metadata']): Readonly<Record<string, string>> {
  const { grant_types: grants, backchannel_token_delivery_mode: mode, jwks, jwks_uri: jwksUri, response_types: types } = metadata;
  const hasGrant = Array.isArray(grants) && grants.includes(GRANT_TYPE);
  const isPairwise = hasGrant && metadata.subject_type === 'pairwise';
  const hasResponses = Array.isArray(types) && types.length > 0;
  const problems: [name: string, expected: string, isWrong: boolean][] = [
    ['backchannel_token_delivery_mode', 'poll or ping, for a client with the CIBA grant', hasGrant && mode === undefined],
    [
      'backchannel_client_notification_endpoint',
      'the https URL at which the client is notified, because its mode is ping',
      mode === 'ping' && metadata.backchannel_client_notification_endpoint === undefined,
    ],
    [
      'token_endpoint_auth_method',
      'a method with credentials, because public clients cannot have the CIBA grant',
      hasGrant && metadata.token_endpoint_auth_method === 'none',
    ],
    [
      'jwks_uri',
      'the URL of its keys, whose host is the sector of a pairwise client with the CIBA grant',
      isPairwise && jwksUri === undefined,
    ],
    [
      'token_endpoint_auth_method',
      'private_key_jwt or self_signed_tls_client_auth, by which a pairwise client with the CIBA grant proves that the keys are its own',
      isPairwise && !keyMethods.has(metadata.token_endpoint_auth_method),
    ],
    [
      'sector_identifier_uri',
      'the https URL of a list of its redirect URIs and its jwks_uri, for a pairwise client that has both',
      isPairwise && hasResponses && metadata.sector_identifier_uri === undefined,
    ],
    [
      'backchannel_authentication_request_signing_alg',
      'jwks or jwks_uri beside it',
      metadata.backchannel_authentication_request_signing_alg !== undefined && jwks === undefined && jwksUri === undefined,
    ],
  ];
  return Object.fromEntries(problems.flatMap(([name, expected, isWrong]) => (isWrong ? [[name, expected]] : [])));
}
