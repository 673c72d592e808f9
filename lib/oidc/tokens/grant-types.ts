import { errors, type KoaContextWithOIDC, type Client as ProviderClient } from 'oidc-provider';
import type { Client } from '../../store/records.js';
import type { OurGrant } from '../accounts/login-context.js';
import type { Scopes } from '../accounts/scopes.js';
import { LostWrite } from '../artifacts/unit-of-work.js';
import { checkScopes } from '../authorize/checks.js';
import { clientOf } from '../clients/clients.js';
import type { OidcParts } from '../context.js';
import type { SpentTokenRules } from './refresh-token.js';

/** Runs a grant at the token endpoint: what it minted is stored before the answer exists, so of two uses of one credential one is refused. */
export const createGrantRunner =
  ({ adapters }: OidcParts, scopes: Scopes, { admit, refuseReplay }: SpentTokenRules) =>
  async (name: string, ctx: KoaContextWithOIDC, handle: () => Promise<void>): Promise<void> => {
    if (name === 'client_credentials') checkClientCredentialsScope(ctx, scopes);
    else checkScopeBeside(ctx, scopes);
    const unit = adapters.unitOf(ctx);
    for (let attempt = 0; ; attempt += 1) {
      try {
        await handle();
      } catch (error) {
        // It may have been used since the request began.
        if (error instanceof errors.InvalidGrant) await refuseReplay(ctx);
        throw error;
      }
      try {
        await unit.commit();
        return;
      } catch (error) {
        if (!(error instanceof LostWrite)) throw error;
        // Two refreshes at once: the second finds the first one's successor, within the grace. One whose grant was ended meanwhile finds nothing.
        if (name !== 'refresh_token' || attempt > 0) throw new errors.InvalidGrant('already used');
        unit.reset();
        await admit(ctx);
      }
    }
  };

function checkClientCredentialsScope(ctx: KoaContextWithOIDC, scopes: Scopes): void {
  const { params, client } = ctx.oidc;
  const record = clientOf(client);
  if (!params || !record) return;
  const scope = clientCredentialsScope(ctx, scopes, record, params.scope as string | undefined);
  if (scope !== undefined) params.scope = scope;
}

/** Grants that take no scope, or narrow theirs, still refuse one that the client may not have. @throws InvalidScope @see RFC 6749 §5.2 */
function checkScopeBeside(ctx: KoaContextWithOIDC, scopes: Scopes): void {
  const { body, client } = ctx.oidc;
  const record = clientOf(client);
  if (!record || typeof body?.scope !== 'string') return;
  checkScopes(body.scope.split(' ').filter(Boolean), record.allowedScopes, scopes.known(ctx));
}

/** A client asks for API scopes it may have; without `scope` it gets them all. @throws InvalidScope @see RFC 6749 §4.4.2, §3.3 */
export function clientCredentialsScope(ctx: object, scopes: Scopes, client: Client, asked: string | undefined): string | undefined {
  const allowed = client.allowedScopes.filter((scope) => scopes.isApiScope(ctx, scope));
  const wanted = new Set(asked ? asked.split(' ') : allowed);
  checkScopes([...wanted], allowed, new Set(allowed));
  return wanted.size > 0 ? [...wanted].join(' ') : undefined;
}

const seconds = (): number => Math.floor(Date.now() / 1000);

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
  /** The grant it depends on; absent: the request's. */
  grant?: { readonly exp?: number },
) => number;

/** How long each artifact lives, in seconds: the client's own lifetime, else the instance's; never longer than what it depends on. */
export function lifetimesOf({
  options: { lifetimes },
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
    return grant?.exp ? Math.max(1, Math.min(ttl, grant.exp - seconds())) : ttl;
  };
  return {
    AccessToken: (ctx, token, client, grant) => withinGrant(accessToken(ctx, token, client), ctx, grant),
    ClientCredentials: accessToken,
    IdToken: (_ctx, _token, client) => clientOf(client)?.lifetimes.idToken ?? lifetimes.idToken,
    RefreshToken(ctx, token, client, grant) {
      const own = clientOf(client)?.lifetimes;
      const absolute = own?.refreshTokenAbsolute ?? lifetimes.refreshTokenAbsolute;
      const left = (token.iiat ?? seconds()) + absolute - seconds();
      return withinGrant(Math.max(1, Math.min(own?.refreshTokenIdle ?? lifetimes.refreshTokenIdle, left)), ctx, grant);
    },
    // Set by whoever makes the grant: it knows the session and whether the grant outlives it.
    Grant: () => lifetimes.refreshTokenAbsolute,
  };
}
