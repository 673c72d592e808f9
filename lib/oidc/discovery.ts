import type { KoaContextWithOIDC } from 'oidc-provider';
import type { OidcParts } from './dependencies.js';
import type { Scopes } from './scopes.js';

/** Makes the discovery document tell what is true now: scopes are data, and some members oidc-provider fixes are ours to say. */
export function completeDiscovery(
  { claims }: OidcParts,
  scopes: Scopes,
  ctx: KoaContextWithOIDC,
  own: Readonly<Record<string, unknown>>,
): void {
  const document = ctx.body as Record<string, unknown>;
  ctx.body = {
    ...document,
    scopes_supported: [...scopes.known(ctx)],
    // oidc-provider always lists `acr`; no sign-in here has one.
    claims_supported: [...new Set([...(document.claims_supported as string[]), ...claims.declarations.map(({ name }) => name)])].filter(
      (name) => name !== 'acr',
    ),
    ...own,
  };
}
