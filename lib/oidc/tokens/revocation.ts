import type { TokenRecords } from '../artifacts/token-records.js';
import type { FindToken } from './found-token.js';
import type { IntrospectionRequest } from './introspection.js';

/** Whether a token is the caller's to end: it was issued to it. @see RFC 7009 §2.1 */
export const mayRevoke = (caller: { readonly clientId: string }, token: { readonly clientId?: string | undefined }): boolean =>
  token.clientId === caller.clientId;

/** Ends a token of the caller's own and all that its grant brought about; for any other token nothing happens. @see RFC 7009 §2.1, §2.2 */
export type Revoke = (request: IntrospectionRequest) => Promise<void>;

export const createRevoke =
  (tokens: TokenRecords, find: FindToken): Revoke =>
  async ({ unit, caller, token: value }) => {
    const found = await find(unit, value);
    // One that was replaced ends its family all the same.
    const spent = found ? undefined : await tokens.findSpent(unit, value);
    const token = found?.token ?? (spent?.grant ? spent.token : undefined);
    if (!token || !mayRevoke(caller, token)) return;
    tokens.revoke(unit, found?.kind ?? 'RefreshToken', token.jti as string, token);
  };
