/** Refresh tokens: rotation, the grace period for lost answers, and the effects of a replay. */

import { hash } from 'node:crypto';
import type { Context } from 'koa';
import { type Client, errors } from 'oidc-provider';
import { present } from '../../../present.js';
import { digestOfKey, hashedKey } from '../../../store/artifact-key.js';
import type { Client as ClientRecord } from '../../../store/records/records.js';
import type { Accounts } from '../../accounts/account.js';
import type { GrantRecord } from '../../accounts/login-context.js';
import { getsRefreshToken } from '../../accounts/offline-access.js';
import type { Scopes } from '../../accounts/scopes.js';
import { createId, keyOf } from '../../artifacts/ids.js';
import { type LiveToken, type RefreshUse, type SpentRefreshToken, tombstoneEnd } from '../../artifacts/token-records.js';
import type { OidcParts } from '../../context.js';
import type { Issuance, Issue } from '../issue.js';
import { lifetimesOf } from '../lifetimes.js';
import { type GrantType, requirePresent, requireProof, type TokenRequest } from '../token-request.js';
import { checkScopeBeside } from './asked-scope.js';

/** Maximum uses of one refresh token that count as retries. */
const MAX_RETRIES = 5;
/** Milliseconds for which uses are counted: longer than any grace period. */
const COUNTED_MS = 120_000;

/** A token request whose client authenticated. */
type Use = Pick<TokenRequest, 'ctx' | 'unit' | 'client' | 'parameters'>;

/** Rules for a refresh token that its own client used before. */
export interface SpentTokenRules {
  /**
   * Ends the grant of a replayed refresh token, and raises `RefreshTokenReplayed`, whatever else the request contains. A retry is no replay.
   *
   * The event is written before the grant ends. If either write fails, the client is asked to retry, and the next attempt does the rest.
   * @throws InvalidGrant
   * @see RFC 9700 §4.14.2
   */
  refuseReplay(use: Use): Promise<void>;
  /** Refuses replays by {@link refuseReplay}, and counts a retry. @throws InvalidGrant for one retry too many, which ends nothing. */
  admit(use: Use): Promise<void>;
}

export function createSpentTokenRules({ adapters: { tokens }, artifacts, directory }: OidcParts, accounts: Accounts): SpentTokenRules {
  type Event = 'RefreshTokenReplayed' | 'RefreshTokenRetriedElsewhere';
  const report = async ({ ctx }: Use, type: Event, { token, spentAt }: SpentRefreshToken, cause: string): Promise<void> => {
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

  const spentBy = async ({ unit, client, parameters }: Use): Promise<{ value: string; spent: SpentRefreshToken } | undefined> => {
    const { grant_type: grantType, refresh_token: value } = parameters;
    if (grantType !== 'refresh_token' || typeof value !== 'string') return undefined;
    const spent = await tokens.findSpent(unit, value);
    return spent?.token.clientId === client.clientId ? { value, spent } : undefined;
  };

  async function end(use: Use, spent: SpentRefreshToken): Promise<never> {
    const { unit } = use;
    const { grantId } = spent.token;
    const key = grantId ? keyOf('Grant', grantId) : undefined;
    // The grant was read with the token.
    const grant = key && unit.peek(key);
    if (grantId && key && grant) {
      await report(use, 'RefreshTokenReplayed', spent, grantId);
      unit.remove(key, tombstoneEnd(grant.expiresAt));
    }
    throw new errors.InvalidGrant('refresh token already used');
  }

  return {
    async refuseReplay(use) {
      const found = await spentBy(use);
      if (found && !found.spent.successor) await end(use, found.spent);
    },
    async admit(use) {
      const found = await spentBy(use);
      if (!found) return;
      const { value, spent } = found;
      if (!spent.successor) await end(use, spent);
      const { count } = await artifacts.hit(hashedKey('Retries', value), COUNTED_MS);
      if (count > MAX_RETRIES) throw new errors.InvalidGrant('The refresh token was retried too often. Sign the user in again.');
      if (isFromElsewhere(use.ctx, value, spent.token)) {
        const key = keyOf('RefreshToken', value);
        await report(use, 'RefreshTokenRetriedElsewhere', spent, key ? digestOfKey(key) : '');
      }
    },
  };
}

type Sender = Pick<Context, 'ip' | 'get'>;

/** @param client record of the token's client. */
export function refreshUseOf(ctx: Sender, token: string, client: ClientRecord | undefined): RefreshUse {
  const grace = client?.lifetimes.refreshTokenGrace;
  return { sender: senderOf(ctx, token), ...present({ grace }) };
}

/** Returns whether a token comes from another address and another user agent than before. A phone that changes networks keeps its user agent. */
function isFromElsewhere(ctx: Sender, token: string, { sender }: Partial<RefreshUse>): boolean {
  if (sender === undefined) return false;
  const before = sender.split('.');
  return senderOf(ctx, token)
    .split('.')
    .every((part, index) => part !== before[index]);
}

const senderOf = (ctx: Sender, token: string): string =>
  [ctx.ip, ctx.get('user-agent')].map((text) => hash('sha256', `${token} ${text}`, 'base64url').slice(0, 8)).join('.');

/** Returns the first refresh token of a grant, for `issue`; an empty object if the client gets no refresh token. */
export const firstRefreshToken = (client: Client, scope: string, grantId: string): Pick<Issuance, 'refreshToken'> =>
  getsRefreshToken(client, scope.split(' ')) ? { refreshToken: { id: createId('RefreshToken', grantId), rotations: 0 } } : {};

/** Returns the refresh token to use next, for a client whose tokens do not rotate. */
export type KeepRefreshToken = (request: Pick<TokenRequest, 'unit' | 'client'>, value: string) => Promise<string>;

/**
 * Creates the function that returns the refresh token to use next, for a client whose tokens do not rotate.
 *
 * A token that was issued before FAPI 2.0 applied to its client has an idle end. The idle end is replaced by the absolute end when the token is used. A
 * token that rotated before is a retry within the grace period, and its successor is the token to use next. All records were read before.
 */
export function createKeepRefreshToken(parts: OidcParts): KeepRefreshToken {
  const { tokens } = parts.adapters;
  const lifetimes = lifetimesOf(parts);
  return async ({ unit, client }, value) => {
    const retried = await tokens.findRetried(unit, value);
    const kept = retried ? tokens.successorOf(value) : value;
    const { token, grant } = retried ?? (await tokens.find(unit, 'RefreshToken', value)) ?? {};
    const { iiat } = (token ?? {}) as { readonly iiat?: number };
    if (grant && iiat !== undefined)
      tokens.extend(unit, kept, lifetimes.RefreshToken(undefined, { kind: 'RefreshToken', iiat }, client, grant as unknown as GrantRecord));
    return kept;
  };
}

/**
 * Creates the grant type of refresh tokens. A token rotates at every use, except for clients of FAPI 2.0. @see RFC 6749 §6, RFC 9700 §4.14.2, FAPI 2.0
 * Security Profile §5.3.2.1
 */
export function createRefreshToken(parts: OidcParts, scopes: Scopes, issue: Issue): GrantType {
  const { adapters, isFapi2 } = parts;
  const { tokens } = adapters;
  const keep = createKeepRefreshToken(parts);
  /** Returns a live token. A used token is a retry, because its door admitted it. */
  const find = async ({ unit }: TokenRequest, value: string): Promise<LiveToken | undefined> =>
    (await tokens.find(unit, 'RefreshToken', value)) ?? tokens.findRetried(unit, value);

  return async (request) => {
    const { ctx, unit, client, record, parameters } = request;
    checkScopeBeside(ctx, scopes, record, parameters.scope);
    requirePresent(parameters, 'refresh_token');
    const { refresh_token: value = '', scope } = parameters;
    const proof = await request.proof();
    const found = await find(request, value);
    if (!found?.grant) throw new errors.InvalidGrant('refresh token not found, expired or used');
    const { token: source, grant } = found;
    if (source.clientId !== client.clientId) throw new errors.InvalidGrant('client mismatch');
    if (source['x5t#S256'] !== undefined) throw new errors.InvalidGrant('mutual TLS client certificate not provided');
    requireProof(client, proof);
    const held = String(source.scope).split(' ');
    const missing = (scope?.split(' ') ?? []).filter((name) => !held.includes(name));
    if (missing.length > 0)
      throw new errors.InvalidScope(`refresh token missing requested scope${missing.length > 1 ? 's' : ''}`, missing.join(' '));

    if (proof) await proof.use();
    if (source.jkt !== undefined && source.jkt !== proof?.jkt) throw new errors.InvalidGrant('failed jkt verification');

    const { gty = '', rotations = 0 } = source as { gty?: string; rotations?: number };
    const use = {
      source,
      grant,
      gty: gty.endsWith('refresh_token') ? gty : `${gty} refresh_token`,
      asked: scope ?? held.join(' '),
      proof,
    };
    if (isFapi2(record)) return { ...(await issue(request, use)), refresh_token: await keep(request, value) };
    return issue(request, {
      ...use,
      refreshToken: { id: tokens.successorOf(value), rotations: rotations + 1 },
      settle: () => tokens.spend(unit, 'RefreshToken', value, { use: refreshUseOf(ctx, value, record) }),
    });
  };
}
