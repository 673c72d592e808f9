import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { Accounts } from './account.js';
import type { OidcParts } from './dependencies.js';

/**
 * Raises `RefreshTokenReplayed` when this is why a refresh was refused. The event is written before the grant is ended: where either fails, the
 * caller is told to try again, and the next attempt does what is left.
 */
export const createReplayReport =
  ({ directory }: OidcParts, accounts: Accounts) =>
  async (ctx: KoaContextWithOIDC, error: unknown): Promise<void> => {
    // oidc-provider names the account last before it looks whether the token was used.
    const { RefreshToken: token, Account } = ctx.oidc.entities;
    if (!(error instanceof errors.InvalidGrant) || !token?.grantId || typeof token.consumed !== 'number' || !Account) return;
    const account = await accounts.load(ctx, Account.accountId);
    if (!account) return;
    const data = {
      AggregateId: account.person.user.id,
      ClientId: token.clientId as string,
      ...(token.sid ? { SessionId: token.sid } : {}),
      SpentAt: new Date(token.consumed * 1000).toISOString(),
    };
    await directory.accountEvents.raise('RefreshTokenReplayed', account, data, token.grantId);
  };
