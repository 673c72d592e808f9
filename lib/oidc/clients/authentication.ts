import { decodeJwt } from 'jose';
import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import { type Client, errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { CallerState } from '../../contract/clients/caller.js';
import { basicCredentials } from '../../http/clients/basic-credentials.js';
import type { CountWrongSecret } from '../../http/clients/wrong-secrets.js';
import { challenge } from '../../http/header-values.js';
import { perRequest } from '../artifacts/per-request.js';
import { authenticated } from '../upstream/router.js';
import { callerOf } from './clients.js';

/**
 * A request in which no client names itself, which oidc-provider would call malformed.
 * @throws InvalidClientAuth
 * @see RFC 6749 §5.2, `invalid_client`: no client authentication included
 */
export function requireClientAuthentication(ctx: KoaContextWithOIDC): void {
  const { route, body, issuer } = ctx.oidc;
  if (!authenticated.has(route) || !body) return;
  const { authorization, 'oauth-client-attestation': attestation } = ctx.headers;
  if ([authorization, attestation, body.client_id, body.client_secret, body.client_assertion].some(Boolean)) return;
  // @see RFC 9110 §15.5.2
  ctx.set('WWW-Authenticate', challenge('Basic', { realm: issuer }));
  throw new errors.InvalidClientAuth('no client authentication included');
}

/** Puts who authenticated on `ctx.state.caller`, at whichever door. A public client only names itself. */
export function noteCaller({ state }: Pick<Context, 'state'>, client: Client | undefined): void {
  const caller = client?.clientAuthMethod === 'none' ? undefined : callerOf(client);
  if (caller) (state as CallerState).caller = caller;
}

/** What oidc-provider emits when a request is refused, by the endpoints at which clients authenticate. */
const refusals = [
  'grant.error',
  'introspection.error',
  'revocation.error',
  'pushed_authorization_request.error',
  'backchannel_authentication.error',
];

/** Requests that were refused for their secret or assertion. */
export interface RefusalCount {
  /** Takes note of those that the provider refuses. */
  watch(provider: Provider): void;
  /** Counts a request, once it was refused. @throws IdpError `too_many_requests` */
  count(ctx: Context): Promise<void> | undefined;
}

export function createRefusalCount(countWrongSecret: CountWrongSecret): RefusalCount {
  const refused = perRequest((): { id?: string | undefined } => ({}));
  return {
    watch(provider) {
      const emitter = provider as unknown as { on(event: string, listener: (ctx: KoaContextWithOIDC, error: Error) => void): void };
      for (const event of refusals)
        emitter.on(event, (ctx, error) => {
          if (error instanceof errors.InvalidClientAuth) refused(ctx).id = presentedId(ctx);
        });
    },
    count(ctx) {
      const { id } = refused(ctx);
      return id === undefined ? undefined : countWrongSecret(ctx, id);
    },
  };
}

/** The id that a secret or an assertion came with, a client's own however it was spelled; undefined without one. */
function presentedId({ headers: { authorization }, oidc: { body, client } }: KoaContextWithOIDC): string | undefined {
  const { client_id: id = '', client_secret: secret, client_assertion: assertion } = (body ?? {}) as Record<string, string | undefined>;
  if (!assertion && !secret && authorization === undefined) return undefined;
  if (client) return client.clientId;
  if (assertion) return claimedClientId(assertion);
  return secret ? id : (basicCredentials(authorization ?? '')?.id ?? id);
}

/** The client that an assertion says it is of, whether or not it is. @see RFC 7523 §3 */
function claimedClientId(assertion: string): string {
  try {
    return String(decodeJwt(assertion).sub);
  } catch {
    return '';
  }
}
