/** The authorization request to a provider: code, PKCE, state and nonce, and what of the application's request goes on. */

import { randomBytes } from 'node:crypto';
import type { ExtensionContext, Interaction } from '../../../lib/extension-door.js';
import { present } from '../../../lib/extension-door.js';
import { type Connection, eidParameters, type SentRequest, sentRequests } from '../records.js';
import type { Providers } from './provider.js';

/** Parameters of the service's own making: a connection sets none of them. */
export const ownParameters: ReadonlySet<string> = new Set([
  ...['client_id', 'redirect_uri', 'response_type', 'response_mode', 'scope', 'state', 'nonce'],
  ...['code_challenge', 'code_challenge_method', 'request', 'request_uri', 'prompt', 'max_age', 'login_hint', 'id_token_hint'],
  ...['client_secret', 'client_assertion', 'client_assertion_type', 'claims'],
]);

/** Parameters that go on as they are. */
const handedOn = ['prompt', 'max_age', 'ui_locales', 'login_hint'] as const;

export interface Asked {
  /** Another account at the provider than the one it would answer with by itself. */
  readonly another?: boolean;
  /** Whether the request or the tenant wants a second factor. */
  readonly mfa?: boolean;
  /** As in {@link SentRequest}. */
  readonly withoutClaims?: string;
}

/** What goes on of the application's request; absent stays absent. */
function handedOnBy({ renamed, mfa }: Connection, { isInternal, parameters }: Interaction, asked: Asked): Record<string, string> {
  const onward: Record<string, string> = {};
  for (const name of handedOn) if (parameters[name] !== undefined) onward[name] = parameters[name];
  for (const name of eidParameters) {
    // Handled in CIBA alone, whose approvals this service asks for itself. @see service specification §4.2
    if (name === 'eid_call_initiator' && !isInternal) continue;
    const value = parameters[name];
    if (value !== undefined) onward[renamed.find((one) => one.name === name)?.as ?? name] = value;
  }
  // `create` asks this service for an account.
  const prompts = (onward.prompt ?? '').split(' ').filter((prompt) => prompt !== '' && prompt !== 'create');
  if (asked.another && !prompts.includes('select_account')) prompts.push('select_account');
  if (prompts.length > 0) onward.prompt = [...new Set(prompts)].join(' ');
  else delete onward.prompt;
  // Only `max_age` makes a provider tell when the person signed in. @see OpenID Connect Core §3.1.2.1
  if (prompts.includes('login') && onward.max_age === undefined) onward.max_age = '0';
  if (asked.mfa && mfa.acr.length > 0) onward.acr_values = mfa.acr.join(' ');
  return onward;
}

/** Where the browser goes. @throws Error where the provider cannot be asked. */
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

/** Each connection has a redirect URI of its own, so that an answer says whose it is. @see RFC 9700 §4.4.2.1 */
export const callbackPath = (own: string, id: string): string => `${own}/connections/${id}/callback`;

const secret = (): string => randomBytes(32).toString('base64url');
