import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { Accounts } from './account.js';
import type { OidcParts } from './dependencies.js';
import { keyOf } from './ids.js';
import { type SpentRefreshToken, tombstoneEnd } from './token-records.js';

/**
 * A refresh token that its own client used before: unless this is a retry, it is in two hands. The grant is ended, and `RefreshTokenReplayed`
 * raised, whatever else the request says. The event is written before the grant is ended: where either fails, the caller is told to try again,
 * and the next attempt does what is left.
 * @throws InvalidGrant
 * @see RFC 9700 §4.14.2
 */
export const createReplayCheck = ({ adapters, directory }: OidcParts, accounts: Accounts) => {
  const report = async (ctx: KoaContextWithOIDC, { token, spentAt }: SpentRefreshToken, grantId: string): Promise<void> => {
    const account = await accounts.load(ctx, token.accountId as string);
    if (!account) return;
    const data = {
      AggregateId: account.person.user.id,
      ClientId: token.clientId as string,
      ...(token.sid ? { SessionId: token.sid as string } : {}),
      SpentAt: new Date(spentAt).toISOString(),
    };
    await directory.accountEvents.raise('RefreshTokenReplayed', account, data, grantId);
  };

  return async (ctx: KoaContextWithOIDC): Promise<void> => {
    const { params, client } = ctx.oidc;
    if (params?.grant_type !== 'refresh_token' || typeof params.refresh_token !== 'string') return;
    const unit = adapters.unitOf(ctx);
    const spent = await adapters.tokens.findSpent(unit, params.refresh_token);
    if (!spent || spent.successor || spent.token.clientId !== client?.clientId) return;
    const { grantId } = spent.token;
    const key = grantId ? keyOf('Grant', grantId) : undefined;
    // It was read along with the token.
    const grant = key && unit.peek(key);
    if (grantId && key && grant) {
      await report(ctx, spent, grantId);
      unit.remove(key, tombstoneEnd(grant.expiresAt));
    }
    throw new errors.InvalidGrant('refresh token already used');
  };
};
