import type { KoaContextWithOIDC } from 'oidc-provider';
import { pseudonymOf } from '../clients/pairwise.js';
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
  const pseudonym = pseudonymOf(parts, ctx.oidc.client);
  return (hint.oid ?? hint.sub) === (pseudonym ? pseudonym(accountId) : accountId);
}
