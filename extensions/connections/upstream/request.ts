/** The authorization request to a provider: code, PKCE, `state` and `nonce`, and parameters of the application's request. */

import { randomBytes } from 'node:crypto';
import type { ExtensionContext, Interaction } from '../../../lib/extension-door.js';
import { present } from '../../../lib/extension-door.js';
import { type Connection, eidParameters, type SentRequest, sentRequests } from '../records.js';
import type { Providers } from './provider.js';

/** Parameters that the service sets itself. A connection cannot set them. */
export const ownParameters: ReadonlySet<string> = new Set([
  ...['client_id', 'redirect_uri', 'response_type', 'response_mode', 'scope', 'state', 'nonce'],
  ...['code_challenge', 'code_challenge_method', 'request', 'request_uri', 'prompt', 'max_age', 'login_hint', 'id_token_hint'],
  ...['client_secret', 'client_assertion', 'client_assertion_type', 'claims'],
]);

/** Parameters that are passed on unchanged. */
const handedOn = ['prompt', 'max_age', 'ui_locales', 'login_hint'] as const;

export interface Asked {
  /** Whether the person wants to choose another account at the provider. */
  readonly another?: boolean;
  /** Whether the request or the tenant requires a second factor. */
  readonly mfa?: boolean;
  /** Digest of a subject, as in {@link SentRequest}. */
  readonly withoutClaims?: string;
}

/** Returns the parameters of the application's request that are passed on to the provider. */
function handedOnBy({ renamed, mfa }: Connection, { isInternal, parameters }: Interaction, asked: Asked): Record<string, string> {
  const onward: Record<string, string> = {};
  for (const name of handedOn) if (parameters[name] !== undefined) onward[name] = parameters[name];
  for (const name of eidParameters) {
    // The parameter `eid_call_initiator` belongs to CIBA. The service itself requests the approvals of CIBA. @see service specification §4.2
    if (name === 'eid_call_initiator' && !isInternal) continue;
    const value = parameters[name];
    if (value !== undefined) onward[renamed.find((one) => one.name === name)?.as ?? name] = value;
  }
  // `create` is for this service, which creates the account.
  const prompts = (onward.prompt ?? '').split(' ').filter((prompt) => prompt !== '' && prompt !== 'create');
  if (asked.another && !prompts.includes('select_account')) prompts.push('select_account');
  if (prompts.length > 0) onward.prompt = [...new Set(prompts)].join(' ');
  else delete onward.prompt;
  // Only `max_age` makes a provider send `auth_time`. @see OpenID Connect Core §3.1.2.1
  if (prompts.includes('login') && onward.max_age === undefined) onward.max_age = '0';
  if (asked.mfa && mfa.acr.length > 0) onward.acr_values = mfa.acr.join(' ');
  return onward;
}

/** Stores the request, and returns its URL. @throws Error if the provider cannot be used */
export async function authorizationUrl(
  { records: { artifact }, service: { url, own, now } }: ExtensionContext,
  providers: Providers,
  connection: Connection,
  interaction: Interaction,
  asked: Asked,
): Promise<URL> {
  const { client, configuration } = await providers.get(connection);
  const [state, nonce, verifier] = [secret(), secret(), secret()];
  const onward = handedOnBy(connection, interaction, asked);
  const maxAge = onward.max_age === undefined ? undefined : Number(onward.max_age);
  const request: SentRequest = {
    uid: interaction.uid,
    connectionId: connection.id,
    verifier,
    nonce,
    sentAt: now(),
    ...present({ maxAge }),
    ...(asked.withoutClaims && { withoutClaims: asked.withoutClaims }),
  };
  await artifact(sentRequests).put(state, request);
  const parameters = {
    ...Object.fromEntries(connection.parameters.map(({ name, value }) => [name, value])),
    ...onward,
    scope: ['openid', ...connection.scopes.filter((scope) => scope !== 'openid')].join(' '),
    redirect_uri: url(callbackPath(own, connection.id)),
    state,
    nonce,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  };
  const isPushed = configuration.serverMetadata().require_pushed_authorization_requests === true;
  return isPushed
    ? client.buildAuthorizationUrlWithPAR(configuration, parameters)
    : client.buildAuthorizationUrl(configuration, parameters);
}

/** Returns the path of the redirect URI. Each connection has its own redirect URI, so that an answer names its connection. @see RFC 9700 §4.4.2.1 */
export const callbackPath = (own: string, id: string): string => `${own}/connections/${id}/callback`;

const secret = (): string => randomBytes(32).toString('base64url');
