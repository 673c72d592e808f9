import type { ReadAccessToken } from '../../contract/bearer.js';
import { inSharedTime } from '../../times/node-time.js';
import type { Accounts } from '../accounts/account.js';
import { isRefused } from '../accounts/impersonation.js';
import type { GrantRecord } from '../accounts/login-context.js';
import type { Scopes } from '../accounts/scopes.js';
import { clientOf, type FindClient } from '../clients/clients.js';
import type { OidcParts } from '../context.js';
import { audiencesOf } from './access-token-jwt.js';
import type { FindToken } from './found-token.js';
import { type CheckPossession, refusedFor } from './possession.js';

export interface ReadAccessTokenParts {
  readonly accounts: Accounts;
  readonly scopes: Scopes;
  readonly find: FindToken;
  readonly findClient: FindClient;
  readonly possession: CheckPossession;
}

export const createReadAccessToken =
  ({ adapters, directory, now }: OidcParts, { accounts, scopes, find, findClient, possession }: ReadAccessTokenParts): ReadAccessToken =>
  async (ctx, shown) => {
    await scopes.prepare(ctx);
    const found = await find(adapters.unitOf(ctx), shown.value);
    if (!found || found.kind === 'RefreshToken') return refusedFor('unknown or expired');
    const { clientId, accountId, grantId, scope, aud, exp, jkt, 'x5t#S256': certificate } = found.token;
    const isBound = shown.scheme === 'DPoP' || jkt !== undefined || certificate !== undefined;
    const refusal = isBound ? await possession(ctx, shown, found.token) : undefined;
    if (refusal) return refusal;
    const client = await findClient(clientId);
    const record = clientOf(client);
    if (!client || !record) return refusedFor('of a client that is unknown or disabled');
    const { login } = (found.grant ?? {}) as Partial<GrantRecord>;
    const account = accountId ? await accounts.loadUsable(ctx, accountId, login, client) : undefined;
    if (accountId && !account) return refusedFor('of a user who may not sign in to the client');
    const held = scopes.held(ctx, record, scope?.split(' ') ?? []);
    const audiences = audiencesOf(scopes, ctx, { aud, scope: held.join(' ') });
    if (await isRefused(directory, login, { client: record, audiences })) return refusedFor('of an impersonation that is not allowed');
    return {
      client: record,
      scopes: new Set(held),
      audiences,
      ...(account && { account }),
      ...(login && { login }),
      ...(typeof grantId === 'string' && { grantId }),
      expiresAt: new Date(inSharedTime(Number(exp), now) * 1000),
    };
  };
