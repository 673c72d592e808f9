import type Provider from 'oidc-provider';
import type { ResolvedOptions } from '../../options/defaults.js';
import { epochSeconds } from '../../times/epoch-seconds.js';
import { createId, requestUriOf } from '../artifacts/ids.js';
import type { OidcParts } from '../context.js';
import { keepAsPushed, PUSHED_LIFETIME_SECONDS, pushedRecord } from '../upstream/pushed-request.js';
import type { StepHooks } from '../upstream/router.js';

/**
 * Answers a pushed request that oidc-provider has checked. A request object is left to oidc-provider, which keeps it as it is signed. Parameters are kept
 * here, as claims: oidc-provider would encode them as a JWT, which the stored form takes apart again.
 * @see RFC 9126 §2.2
 */
export const createPushedAnswer =
  ({
    options: { issuer },
    adapters,
  }: Pick<OidcParts, 'options' | 'adapters'>): NonNullable<StepHooks['lastSteps']['pushed_authorization_request']> =>
  async (ctx, theirs) => {
    const { client, params, body } = ctx.oidc;
    if (!client || !params) throw new TypeError('the client did not authenticate');
    if (body?.request) return theirs();
    const iat = epochSeconds();
    const id = createId('PushedAuthorizationRequest');
    const record = pushedRecord(client, params, { issuer, clientId: client.clientId, iat });
    adapters.tokens.put(adapters.unitOf(ctx), 'PushedAuthorizationRequest', id, record, iat + PUSHED_LIFETIME_SECONDS);
    ctx.status = 201;
    ctx.body = { expires_in: PUSHED_LIFETIME_SECONDS, request_uri: requestUriOf(id) };
  };

/**
 * The URL of an authorization request that is kept here, by reference and once, as a request that its client pushed. Who checks that a client
 * pushed it itself must not be sent one.
 * @see RFC 9126 §2.2
 */
export async function urlByReference(
  provider: Provider,
  { issuer }: Pick<ResolvedOptions, 'issuer'>,
  clientId: string,
  parameters: Readonly<Record<string, unknown>>,
): Promise<string> {
  const id = await keepAsPushed(provider, parameters, { issuer, clientId, iat: epochSeconds() });
  const url = new URL(provider.urlFor('authorization'));
  url.search = new URLSearchParams({ client_id: clientId, request_uri: requestUriOf(id) }).toString();
  return url.href;
}
