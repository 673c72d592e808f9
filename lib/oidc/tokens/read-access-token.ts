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

export interface ReadAccessTokenParts {
  readonly accounts: Accounts;
  readonly scopes: Scopes;
  readonly find: FindToken;
  readonly findClient: FindClient;
}

export const createReadAccessToken =
  ({ adapters, directory, now }: OidcParts, { accounts, scopes, find, findClient }: ReadAccessTokenParts): ReadAccessToken =>
  async (ctx, value) => {
    await scopes.prepare(ctx);
    const found = await find(adapters.unitOf(ctx), value);
    if (!found || found.kind === 'RefreshToken') return undefined;
    const { clientId, accountId, grantId, scope, aud, jkt, exp, 'x5t#S256': certificate } = found.token;
    if (jkt !== undefined || certificate !== undefined) return undefined;
    const client = await findClient(clientId);
    const record = clientOf(client);
    if (!client || !record) return undefined;
    const { login } = (found.grant ?? {}) as Partial<GrantRecord>;
    const account = accountId ? await accounts.loadUsable(ctx, accountId, login, client) : undefined;
    if (accountId && !account) return undefined;
    const held = scopes.held(ctx, record, scope?.split(' ') ?? []);
    const audiences = audiencesOf(scopes, ctx, { aud, scope: held.join(' ') });
    if (await isRefused(directory, login, { client: record, audiences })) return undefined;
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
