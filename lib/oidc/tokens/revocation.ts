import type { TokenRecords } from '../artifacts/token-records.js';
import type { FindToken } from './found-token.js';
import type { IntrospectionRequest } from './introspection.js';

/** Returns whether the token was issued to the caller. Only then may the caller revoke the token. @see RFC 7009 §2.1 */
export const mayRevoke = (caller: { readonly clientId: string }, token: { readonly clientId?: string | undefined }): boolean =>
  token.clientId === caller.clientId;

/** Revokes a token of the caller and its whole grant. Does nothing for any other token. @see RFC 7009 §2.1, §2.2 */
export type Revoke = (request: IntrospectionRequest) => Promise<void>;

export const createRevoke =
  (tokens: TokenRecords, find: FindToken): Revoke =>
  async ({ unit, caller, token: value }) => {
    const found = await find(unit, value);
    // A refresh token that was replaced ends its whole grant too.
    const spent = found ? undefined : await tokens.findSpent(unit, value);
    const token = found?.token ?? (spent?.grant ? spent.token : undefined);
    if (!token || !mayRevoke(caller, token)) return;
    tokens.revoke(unit, found?.kind ?? 'RefreshToken', token.jti as string, token);
  };
