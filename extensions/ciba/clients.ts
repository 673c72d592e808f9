/** What clients of CIBA are registered with. @see CIBA Core §4 */
import type { Client } from '../../lib/extension-door.js';
import { GRANT_TYPE } from './requests/requests.js';

type Check = (value: unknown) => string | undefined;

const signingAlgorithms: ReadonlySet<unknown> = new Set(['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519']);

const isHttps = (value: unknown): boolean => {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
  return url !== undefined && url.protocol === 'https:' && url.hash === '' && url.username === '' && url.password === '';
};

export const clientMetadata: Readonly<Record<string, Check>> = {
  backchannel_token_delivery_mode: (value) =>
    value === 'poll' || value === 'ping' ? undefined : 'poll or ping; the mode push is not supported',
  backchannel_client_notification_endpoint: (value) =>
    isHttps(value) ? undefined : 'an https URL without fragment, user name and password',
  backchannel_authentication_request_signing_alg: (value) =>
    signingAlgorithms.has(value) ? undefined : `one of ${[...signingAlgorithms].join(', ')}`,
  backchannel_user_code_parameter: (value) => (value === false ? undefined : 'false, because user codes are not supported'),
};

/** What does not fit together. */
export function clientProblems(metadata: Client['metadata']): Readonly<Record<string, string>> {
  const { grant_types: grants, backchannel_token_delivery_mode: mode, jwks, jwks_uri: jwksUri } = metadata;
  const hasGrant = Array.isArray(grants) && grants.includes(GRANT_TYPE);
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
      'subject_type',
      'public, or a sector_identifier_uri or jwks_uri beside pairwise, because the CIBA grant has no redirect URI to tell the sector by',
      hasGrant && metadata.subject_type === 'pairwise' && metadata.sector_identifier_uri === undefined && jwksUri === undefined,
    ],
    [
      'backchannel_authentication_request_signing_alg',
      'jwks or jwks_uri beside it',
      metadata.backchannel_authentication_request_signing_alg !== undefined && jwks === undefined && jwksUri === undefined,
    ],
  ];
  return Object.fromEntries(problems.flatMap(([name, expected, isWrong]) => (isWrong ? [[name, expected]] : [])));
}
