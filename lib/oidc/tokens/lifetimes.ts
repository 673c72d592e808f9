/** Lifetimes of tokens, by client, by instance, and by the grant that they depend on. */
import type { KoaContextWithOIDC, Client as ProviderClient } from 'oidc-provider';
import { epochSeconds } from '../../times/epoch-seconds.js';
import { nodeSeconds } from '../../times/node-time.js';
import type { OurGrant } from '../accounts/login-context.js';
import { clientOf } from '../clients/clients.js';
import type { OidcParts } from '../context.js';

interface TokenModel {
  readonly kind: string;
  readonly iiat?: number;
  readonly scope?: string;
  readonly resourceServer?: { readonly accessTokenTTL?: number };
}

type Ttl = (
  ctx: KoaContextWithOIDC | undefined,
  token: TokenModel,
  client: ProviderClient | undefined,
  /** The grant of the token. @default the request's grant */
  grant?: { readonly exp?: number; readonly login?: { readonly endsAt?: number } | undefined },
) => number;

/**
 * Returns the lifetime of each artifact in seconds: the lifetime of the client, otherwise the lifetime of the instance, and never longer than the grant's.
 */
export function lifetimesOf({
  options: { lifetimes },
  now,
  isFapi2,
}: OidcParts): Record<'AccessToken' | 'ClientCredentials' | 'RefreshToken' | 'IdToken' | 'Grant', Ttl> {
  const accessToken: Ttl = (_ctx, token, client) => {
    const record = clientOf(client);
    return (
      token.resourceServer?.accessTokenTTL ??
      record?.lifetimes.accessToken ??
      (record?.accessTokenType === 'jwt' ? lifetimes.jwtAccessToken : lifetimes.accessToken)
    );
  };
  const withinGrant = (ttl: number, ctx: KoaContextWithOIDC | undefined, given: { readonly exp?: number } | undefined): number => {
    const grant = given ?? (ctx?.oidc.entities.Grant as OurGrant | undefined);
    return grant?.exp ? Math.max(1, Math.min(ttl, grant.exp - nodeSeconds())) : ttl;
  };
  return {
    AccessToken: (ctx, token, client, grant) => withinGrant(accessToken(ctx, token, client), ctx, grant),
    ClientCredentials: accessToken,
    IdToken(ctx, _token, client, given) {
      const ttl = clientOf(client)?.lifetimes.idToken ?? lifetimes.idToken;
      const { endsAt } = (given ?? (ctx?.oidc.entities.Grant as OurGrant | undefined))?.login ?? {};
      return endsAt === undefined ? ttl : Math.max(1, Math.min(ttl, endsAt - epochSeconds(now())));
    },
    RefreshToken(ctx, token, client, grant) {
      const record = clientOf(client);
      const own = record?.lifetimes;
      const absolute = own?.refreshTokenAbsolute ?? lifetimes.refreshTokenAbsolute;
      const at = epochSeconds(now());
      const left = (token.iiat ?? at) + absolute - at;
      // A token that does not rotate cannot get a later end when it is used.
      const idle = isFapi2(record) ? absolute : (own?.refreshTokenIdle ?? lifetimes.refreshTokenIdle);
      return withinGrant(Math.max(1, Math.min(idle, left)), ctx, grant);
    },
    // The code that makes the grant sets its end, because that code knows the session and whether the grant outlives the session.
    Grant: () => lifetimes.refreshTokenAbsolute,
  };
}
