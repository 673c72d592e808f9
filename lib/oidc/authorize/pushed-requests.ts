import { UnsecuredJWT } from 'jose';
import type Provider from 'oidc-provider';
import type { AdapterPayload } from 'oidc-provider';
import type { ResolvedOptions } from '../../options/defaults.js';
import { epochSeconds } from '../../times/epoch-seconds.js';
import { createId, requestUriOf } from '../artifacts/ids.js';
import type { OidcParts } from '../context.js';
import type { StepHooks } from '../upstream/router.js';

type Issuer = Pick<ResolvedOptions, 'issuer'>;
type Parameters = Readonly<Record<string, unknown>>;

/** Seconds that a pushed request holds, as oidc-provider has it. */
const PUSHED_LIFETIME_SECONDS = 60;

/** Parameters as oidc-provider keeps those that a client pushed: as the claims of a request object. @param iat seconds since the epoch. */
function claimsOf({ issuer }: Issuer, clientId: string, parameters: Parameters, iat: number) {
  const claims: Record<string, unknown> = {};
  // Most of those that a request may have it has not.
  for (const name in parameters) if (parameters[name] !== undefined) claims[name] = parameters[name];
  return Object.assign(claims, { iat, iss: clientId, aud: issuer, exp: iat + PUSHED_LIFETIME_SECONDS, nbf: iat });
}

/**
 * Answers a pushed request that oidc-provider has checked. A request object is left to oidc-provider, which keeps it as it is signed. Parameters are kept
 * here, as claims: oidc-provider would encode them as a JWT, which the stored form takes apart again.
 * @see RFC 9126 §2.2
 */
export const createPushedAnswer =
  ({ options, adapters }: Pick<OidcParts, 'options' | 'adapters'>): NonNullable<StepHooks['lastSteps']['pushed_authorization_request']> =>
  async (ctx, theirs) => {
    const { client, params, body } = ctx.oidc;
    if (!client || !params) throw new TypeError('the client did not authenticate');
    if (body?.request) return theirs();
    const iat = epochSeconds();
    const id = createId('PushedAuthorizationRequest');
    const record = {
      iat,
      request: claimsOf(options, client.clientId, params, iat),
      dpopJkt: params.dpop_jkt,
      trusted: client.clientAuthMethod !== 'none',
    };
    adapters.tokens.put(
      adapters.unitOf(ctx),
      'PushedAuthorizationRequest',
      id,
      record as unknown as AdapterPayload,
      iat + PUSHED_LIFETIME_SECONDS,
    );
    ctx.status = 201;
    ctx.body = { expires_in: PUSHED_LIFETIME_SECONDS, request_uri: requestUriOf(id) };
  };

/**
 * The URL of an authorization request that is kept here, by reference and once, as a request that its client pushed. Who checks that a client
 * pushed it itself must not be sent one.
 * @see RFC 9126 §2.2
 */
export async function urlByReference(provider: Provider, options: Issuer, clientId: string, parameters: Parameters): Promise<string> {
  const request = new UnsecuredJWT(claimsOf(options, clientId, parameters, epochSeconds())).encode();
  const { PushedAuthorizationRequest } = provider;
  const id = await new (PushedAuthorizationRequest as unknown as PushedConstructor)({ request }).save(PUSHED_LIFETIME_SECONDS);
  const url = new URL(provider.urlFor('authorization'));
  url.search = new URLSearchParams({ client_id: clientId, request_uri: requestUriOf(id) }).toString();
  return url.href;
}

type PushedConstructor = new (members: { request: string }) => { save(ttl: number): Promise<string> };
