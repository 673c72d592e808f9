import { decodeJwt } from 'jose';
import type Provider from 'oidc-provider';
import type { ResolvedOptions } from '../../options/defaults.js';
import { epochSeconds } from '../../times/epoch-seconds.js';
import { nodeSeconds } from '../../times/node-time.js';
import { createId, requestUriOf } from '../artifacts/ids.js';
import type { OidcParts } from '../context.js';
import { keepAsPushed, PUSHED_LIFETIME_SECONDS, pushedRecord } from '../upstream/pushed-request.js';
import type { StepHooks } from '../upstream/router.js';

/**
 * Creates the answer to a pushed request that oidc-provider has checked.
 *
 * The parameters are stored as claims. oidc-provider would encode them as a JWT, which the stored form decodes again. Only the parameters of a request
 * object are stored, because its text may be long and its signature has been checked.
 * @see RFC 9126 §2.2
 */
export const createPushedAnswer =
  ({
    options: { issuer },
    adapters,
    now,
  }: Pick<OidcParts, 'options' | 'adapters' | 'now'>): NonNullable<StepHooks['lastSteps']['pushed_authorization_request']> =>
  async (ctx) => {
    const { client, params, body, trusted = [] } = ctx.oidc;
    if (!client || !params) throw new TypeError('the client did not authenticate');
    const iat = nodeSeconds();
    const lifetime = typeof body?.request === 'string' ? lifetimeOf(body.request, epochSeconds(now())) : PUSHED_LIFETIME_SECONDS;
    const id = createId('PushedAuthorizationRequest');
    const record = pushedRecord(client, params, { issuer, clientId: client.clientId, iat, isSigned: trusted.length > 0 });
    adapters.tokens.put(adapters.unitOf(ctx), 'PushedAuthorizationRequest', id, record, iat + lifetime);
    ctx.status = 201;
    ctx.body = { expires_in: lifetime, request_uri: requestUriOf(id) };
  };

/** Returns the seconds for which a pushed request object is stored: until it expires, and at most the lifetime of any pushed request. */
function lifetimeOf(request: string, now: number): number {
  const { exp } = decodeJwt(request);
  return exp === undefined ? PUSHED_LIFETIME_SECONDS : Math.max(1, Math.min(Math.trunc(exp - now), PUSHED_LIFETIME_SECONDS));
}

/**
 * Returns the URL of an authorization request that is stored by reference, for one use, as if its client had pushed it. Do not store requests that only the
 * client may push.
 * @see RFC 9126 §2.2
 */
export async function urlByReference(
  provider: Provider,
  { issuer }: Pick<ResolvedOptions, 'issuer'>,
  clientId: string,
  parameters: Readonly<Record<string, unknown>>,
): Promise<string> {
  const id = await keepAsPushed(provider, parameters, { issuer, clientId, iat: nodeSeconds() });
  const url = new URL(provider.urlFor('authorization'));
  url.search = new URLSearchParams({ client_id: clientId, request_uri: requestUriOf(id) }).toString();
  return url.href;
}
