/** The record of a token that a caller presents, opaque or signed. */
import type { AdapterPayload } from 'oidc-provider';
import { kindOfToken } from '../artifacts/ids.js';
import type { TokenRecords } from '../artifacts/token-records.js';
import type { UnitOfWork } from '../artifacts/unit-of-work.js';
import { type AccessTokenRecord, type AccessTokens, isSigned } from './access-token-jwt.js';

export interface FoundToken {
  readonly kind: NonNullable<ReturnType<typeof kindOfToken>>;
  readonly token: AdapterPayload & AccessTokenRecord;
  /** Grant of the token. Undefined for a token of the client itself. */
  readonly grant: AdapterPayload | undefined;
  readonly isSigned: boolean;
}

/** Returns a live token; undefined for all other tokens. A used refresh token is live during its grace period. */
export type FindToken = (unit: UnitOfWork, value: string) => Promise<FoundToken | undefined>;

export const createFindToken =
  (tokens: TokenRecords, accessTokens: Pick<AccessTokens, 'idOf'>): FindToken =>
  async (unit, value) => {
    const signed = isSigned(value);
    const id = signed ? await accessTokens.idOf(value) : value;
    const kind = id === undefined ? undefined : kindOfToken(id);
    if (id === undefined || kind === undefined) return undefined;
    const live = await tokens.find(unit, kind, id);
    const found = live ?? (kind === 'RefreshToken' ? await tokens.findRetried(unit, id) : undefined);
    // The id of a signed token is public (its `jti`), so the id alone must find nothing.
    if (!found || (found.token.structured === true) !== signed) return undefined;
    return { token: found.token as FoundToken['token'], grant: found.grant, kind, isSigned: signed };
  };
