import type { KoaContextWithOIDC } from 'oidc-provider';
import { identifierOf } from '../clients/pairwise.js';
import type { OidcParts } from '../context.js';
import { sessionOf } from './login-context.js';

/** Whether an ID token is about this account, by default the session's, whatever `sub` they share. */
export function isHintOf(
  parts: OidcParts,
  ctx: KoaContextWithOIDC,
  hint: Record<string, unknown>,
  accountId = sessionOf(ctx).accountId,
): boolean {
  if (!accountId || !ctx.oidc.client) return false;
  return (hint.oid ?? hint.sub) === identifierOf(parts, ctx.oidc.client, accountId);
}
