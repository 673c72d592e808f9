import type { KoaContextWithOIDC } from 'oidc-provider';
import { identifierOf } from '../clients/pairwise.js';
import type { OidcParts } from '../context.js';
import { sessionOf } from './login-context.js';

/** Returns whether an ID token is about this account. Linked accounts share `sub`, so `oid` decides. @default the session's account */
export function isHintOf(
  parts: OidcParts,
  ctx: KoaContextWithOIDC,
  hint: Record<string, unknown>,
  accountId = sessionOf(ctx).accountId,
): boolean {
  if (!accountId || !ctx.oidc.client) return false;
  return (hint.oid ?? hint.sub) === identifierOf(parts, ctx.oidc.client, accountId);
}
