/** Claims of accounts, as a caller gets the claims. */
import type { ClaimTarget, DeclaredClaim } from '../../claims/contract.js';
import type { Account } from '../../directory/index.js';
import type { SignedIn } from '../sign-in/requirement.js';
import type { Caller } from './caller.js';

/**
 * Pseudonyms of users. Each sector has its own pseudonyms, so that two sectors cannot compare users. No client gets the pseudonyms of an extension's
 * sector.
 */
export interface ExtensionPseudonyms {
  /**
   * Returns the pseudonym of a user.
   * @param sector the extension's name, then a space, dot or colon, then any text. Both methods throw a TypeError for any other sector.
   * @param oid the user's id
   */
  of(sector: string, oid: string): string;
  /** Returns the user id behind a pseudonym; undefined for a malformed pseudonym. A pseudonym of another sector gives an id that no user has. */
  oidOf(sector: string, pseudonym: string): string | undefined;
}

/** Claims as a caller gets them. Pseudonyms do not replace ids if there is no caller, or if the caller is an API resource. */
export interface AccountClaims {
  /** Identity scopes: `openid`, and all scopes that grant claims. */
  readonly scopes: ReadonlySet<string>;
  /**
   * Returns `sub`, `tid`, `oid` if it is issued, and the current claims of these scopes.
   * @param viewer the caller whose pseudonyms replace ids. @default the caller
   * @throws UnavailableError `claims_unavailable`
   */
  about(
    account: Account,
    scopes: ReadonlySet<string>,
    target: ClaimTarget,
    caller?: Caller,
    viewer?: Caller,
  ): Promise<Record<string, unknown>>;
  /** All claims that the service serves, with their targets. */
  readonly declared: readonly DeclaredClaim[];
  /**
   * Returns the claims of these names that the target may get. Returns `sub`, `oid`, `tid` and `act` only if they are among the names. Linked accounts are
   * included only if the client may know the tenants of these accounts.
   * @param client id of the client, or of an `InternalClient`. @default none: claims are not limited by client
   * @param signIn the sign-in that claims may describe
   * @throws UnavailableError `claims_unavailable`
   * @throws TypeError for an unknown client
   */
  named(
    account: Account,
    names: ReadonlySet<string>,
    target: ClaimTarget,
    client?: string,
    signIn?: SignedIn,
  ): Promise<Record<string, unknown>>;
  /** Returns the user id for an identifier that the viewer got. A pairwise client got a pseudonym. Undefined for a malformed identifier. */
  userIdOf(identifier: string, viewer?: Caller): Promise<string | undefined>;
  /** Returns the identifier of a user for the viewer: the user id, or the pseudonym of a pairwise client. */
  identifierOf(userId: string, viewer?: Caller): Promise<string>;
}
