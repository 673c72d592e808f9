import { hash } from 'node:crypto';
import type { Context } from 'koa';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import { digestOfKey, hashedKey } from '../../store/artifact-key.js';
import type { Client } from '../../store/records.js';
import type { Accounts } from '../accounts/account.js';
import { keyOf } from '../artifacts/ids.js';
import { type RefreshUse, type SpentRefreshToken, tombstoneEnd } from '../artifacts/token-records.js';
import type { OidcParts } from '../context.js';

/** Uses of one refresh token that are answered as retries. */
const MAX_RETRIES = 5;
/** Longer than any grace, in milliseconds. */
const COUNTED_MS = 120_000;

/** What becomes of a refresh token that its own client used before. */
export interface SpentTokenRules {
  /**
   * Unless its use is a retry, it is in two hands: the grant is ended, and `RefreshTokenReplayed` raised, whatever else the request says. The
   * event is written before the grant is ended: where either fails, the caller is told to try again, and the next attempt does what is left.
   * @throws InvalidGrant
   * @see RFC 9700 §4.14.2
   */
  refuseReplay(ctx: KoaContextWithOIDC): Promise<void>;
  /** {@link refuseReplay}; a retry is counted. @throws InvalidGrant for one too many, which ends nothing. */
  admit(ctx: KoaContextWithOIDC): Promise<void>;
}

export function createSpentTokenRules({ adapters, artifacts, directory }: OidcParts, accounts: Accounts): SpentTokenRules {
  type Event = 'RefreshTokenReplayed' | 'RefreshTokenRetriedElsewhere';
  const report = async (ctx: KoaContextWithOIDC, type: Event, { token, spentAt }: SpentRefreshToken, cause: string): Promise<void> => {
    const account = await accounts.load(ctx, token.accountId as string);
    if (!account) return;
    const data = {
      AggregateId: account.person.user.id,
      ClientId: token.clientId as string,
      ...(token.sid ? { SessionId: token.sid as string } : {}),
      SpentAt: new Date(spentAt).toISOString(),
    };
    await directory.accountEvents.raise(type, account, data, cause);
  };

  const spentBy = async (ctx: KoaContextWithOIDC): Promise<{ value: string; spent: SpentRefreshToken } | undefined> => {
    const { params, client } = ctx.oidc;
    const value = params?.refresh_token;
    if (params?.grant_type !== 'refresh_token' || typeof value !== 'string') return undefined;
    const spent = await adapters.tokens.findSpent(adapters.unitOf(ctx), value);
    return spent?.token.clientId === client?.clientId && spent ? { value, spent } : undefined;
  };

  async function end(ctx: KoaContextWithOIDC, spent: SpentRefreshToken): Promise<never> {
    const unit = adapters.unitOf(ctx);
    const { grantId } = spent.token;
    const key = grantId ? keyOf('Grant', grantId) : undefined;
    // It was read along with the token.
    const grant = key && unit.peek(key);
    if (grantId && key && grant) {
      await report(ctx, 'RefreshTokenReplayed', spent, grantId);
      unit.remove(key, tombstoneEnd(grant.expiresAt));
    }
    throw new errors.InvalidGrant('refresh token already used');
  }

  return {
    async refuseReplay(ctx) {
      const found = await spentBy(ctx);
      if (found && !found.spent.successor) await end(ctx, found.spent);
    },
    async admit(ctx) {
      const found = await spentBy(ctx);
      if (!found) return;
      const { value, spent } = found;
      if (!spent.successor) await end(ctx, spent);
      const { count } = await artifacts.hit(hashedKey('Retries', value), COUNTED_MS);
      if (count > MAX_RETRIES) throw new errors.InvalidGrant('refresh token used too often');
      if (isFromElsewhere(ctx, value, spent.token)) {
        const key = keyOf('RefreshToken', value);
        await report(ctx, 'RefreshTokenRetriedElsewhere', spent, key ? digestOfKey(key) : '');
      }
    },
  };
}

type Sender = Pick<Context, 'ip' | 'get'>;

/** @param client the record of the client that the token is of. */
export function refreshUseOf(ctx: Sender, token: string, client: Client | undefined): RefreshUse {
  const grace = client?.lifetimes.refreshTokenGrace;
  return { sender: senderOf(ctx, token), ...(grace === undefined ? {} : { grace }) };
}

/** Whether a token comes from another address and from another agent than before: a phone that changes networks keeps its agent. */
function isFromElsewhere(ctx: Sender, token: string, { sender }: Partial<RefreshUse>): boolean {
  if (sender === undefined) return false;
  const before = sender.split('.');
  return senderOf(ctx, token)
    .split('.')
    .every((part, index) => part !== before[index]);
}

const senderOf = (ctx: Sender, token: string): string =>
  [ctx.ip, ctx.get('user-agent')].map((text) => hash('sha256', `${token} ${text}`, 'base64url').slice(0, 8)).join('.');
