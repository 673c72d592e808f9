/** Claims of accounts, as callers get them. */
import type { ClaimTarget, DeclaredClaim } from '../../claims/contract.js';
import type { Account } from '../../directory/index.js';
import type { SignedIn } from '../sign-in/requirement.js';
import type { Caller } from './caller.js';

/** Pseudonyms of users, one for each sector: two sectors cannot compare theirs. No client has those of an extension's sector. */
export interface ExtensionPseudonyms {
  /** @param sector begins with the extension's name and a space, dot or colon; for another one, both throw a TypeError. @param oid the user's id */
  of(sector: string, oid: string): string;
  /** The id behind one; undefined for what cannot be one. One of another sector becomes an id that nobody has. */
  oidOf(sector: string, pseudonym: string): string | undefined;
}

/** Claims as callers get them; without a caller, and to an API resource, ids are what they are. */
export interface AccountClaims {
  /** Identity scopes: `openid`, and those that grant claims. */
  readonly scopes: ReadonlySet<string>;
  /**
   * `sub`, `tid`, `oid` where it is issued, and the claims of these scopes, as they are now.
   * @param viewer as whom ids are written. @default the caller
   * @throws UnavailableError `claims_unavailable`
   */
  about(
    account: Account,
    scopes: ReadonlySet<string>,
    target: ClaimTarget,
    caller?: Caller,
    viewer?: Caller,
  ): Promise<Record<string, unknown>>;
  /** All that are served, with where they may go. */
  readonly declared: readonly DeclaredClaim[];
  /**
   * The claims of these names that may go to the target, and of `sub`, `oid`, `tid` and `act` those that are among the names. Linked accounts are told of
   * where the client may know of their tenants.
   * @param client the id of the client, or of an `InternalClient`. @default none: what is told is not limited
   * @param signIn what claims may say of the sign-in
   * @throws UnavailableError `claims_unavailable`
   * @throws TypeError for a client that there is not
   */
  named(
    account: Account,
    names: ReadonlySet<string>,
    target: ClaimTarget,
    client?: string,
    signIn?: SignedIn,
  ): Promise<Record<string, unknown>>;
  /** The user id behind what the viewer was given for it: to a pairwise client, a pseudonym. Undefined when it cannot be one. */
  userIdOf(identifier: string, viewer?: Caller): Promise<string | undefined>;
  /** What the viewer is given for a user id. */
  identifierOf(userId: string, viewer?: Caller): Promise<string>;
}
