import type { Client } from 'oidc-provider';
import type { Accounts } from '../accounts/account.js';
import type { GrantRecord } from '../accounts/login-context.js';
import type { Scopes } from '../accounts/scopes.js';
import { subjectOf } from '../accounts/subject.js';
import { clientOf } from '../clients/clients.js';
import { identifierOf } from '../clients/pairwise.js';
import type { OidcParts } from '../context.js';

export interface UserinfoRequest {
  readonly ctx: object;
  /** The client that the token was issued to. */
  readonly client: Client;
  readonly token: { readonly accountId?: string | undefined; readonly scope?: string | undefined };
  readonly grant: Pick<GrantRecord, 'login' | 'openid'>;
}

/** Returns the claims of the account; undefined if no claims of the account may be returned any more. @see OpenID Connect Core §5.3.2 */
export type AnswerUserinfo = (request: UserinfoRequest) => Promise<object | undefined>;

export const createUserinfo =
  (parts: OidcParts, accounts: Accounts, scopes: Scopes): AnswerUserinfo =>
  async ({ ctx, client, token: { accountId = '', scope = '' }, grant: { login, openid } }) => {
    const record = clientOf(client);
    const account = await accounts.loadUsableRecent(ctx, accountId, login, client);
    if (!account || !record) return undefined;
    const ofToken = new Set(scope.split(' '));
    const granted = scopes.held(ctx, record, openid?.scope?.split(' ').filter((name) => ofToken.has(name)) ?? []);
    const claims = await accounts.claimsOf(account, 'userinfo', new Set(granted), { client, login });
    return { sub: identifierOf(parts, client, subjectOf(account, login)), ...claims };
  };
