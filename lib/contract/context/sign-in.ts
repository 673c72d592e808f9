import type { Context } from 'koa';
import type { Account, Proof } from '../../directory/index.js';
import type { Interactions } from '../sign-in/interactions.js';
import type { BrowserSignIn, SignInToEnd } from '../sign-in/logout-participant.js';
import type { AskedElsewhere, SignedIn } from '../sign-in/requirement.js';
import type { SignInAnswer, SignInAsk } from '../sign-in/sign-in-request.js';

/** The group `signIn` of the context: the sign-in of the browser that sends a request, and the steps that lead to a sign-in. */
export interface ExtensionSignIn {
  /**
   * Returns the complete sign-in of the browser; undefined without a complete sign-in. A sign-in is complete when no requirement of the account is open:
   * after the password, the second factor too. If the result is undefined, {@link require} leads the user to the open requirement. A form that a page of
   * another site posts carries no cookie, so the result is undefined.
   * @param client the application that the user signs in to, for requirements that depend on the application. @default the service itself
   * @throws UnavailableError `requirements_unavailable` if a requirement throws, or takes longer than five seconds
   */
  current(ctx: Context, client?: string): Promise<BrowserSignIn | undefined>;
  /**
   * Returns the sign-in of the browser, complete or not, with the session for `sessions.signOut`. Use the sign-in only to end it or to deny something. An
   * incomplete sign-in must not show, give or change anything of the person.
   */
  toEnd(ctx: Context): Promise<SignInToEnd | undefined>;
  /**
   * Has the browser sign in for an application of the extension: answers 303. The pages, requirements and session are the same as for any other
   * application. The browser returns to the application's `returnTo`, whose route calls {@link answer}.
   * @throws TypeError for an application that does not exist
   */
  require(ctx: Context, ask: SignInAsk): Promise<void>;
  /** Returns the result with which the browser returned. Undefined for a request that the service did not send here, and for a repeated request. */
  answer(ctx: Context): Promise<SignInAnswer | undefined>;
  /**
   * Returns whether a sign-in is complete for the account, and meets a request that began elsewhere. Call this method before a person approves such a
   * request. The method does not check whether the client accepts users of the tenant.
   * @param asked the request that began elsewhere. @default none
   */
  isSufficient(
    account: Account,
    signIn: Pick<BrowserSignIn, 'amr' | 'idp' | 'authTime' | 'provenAt' | 'act' | 'method' | 'heldTo'> &
      Pick<SignedIn, 'owner' | 'session'>,
    asked?: AskedElsewhere,
  ): Promise<boolean>;
  /**
   * Returns whether a sign-in may change how a user signs in to the account: factors, password, address, account links, identities. The requirement that
   * serves `mfa` decides: a user who has a second factor must have proven it. False for a sign-in by the child account's own credential after the account
   * was linked. Pages of `createOwnPage` that need `credentialChange` call this method.
   */
  mayChange(signIn: BrowserSignIn): Promise<boolean>;
  /**
   * Returns the proof for something that the user asks for in this sign-in, and that happens later: at a mailed link, or after a second sign-in. Store the
   * proof with the request, and pass it to `directory.credentials.holds` before the request is fulfilled. The proof ends with the sign-in: by a sign-out, by
   * the end of its session, by a sign-in with another account in this browser, and by a cut-off. A session that expires ends no proof.
   * @param asked `lifetimeSeconds`: seconds after which the proof ends in any case. `survivesSwitch`: whether a sign-in with another account in this browser
   * does not end the proof.
   */
  proofOf(
    ctx: Context,
    signIn: BrowserSignIn,
    asked: { readonly lifetimeSeconds: number; readonly survivesSwitch?: boolean },
  ): Promise<Proof>;
  /** Steps of a sign-in that the browser has begun, for sign-in methods and requirements. */
  readonly interactions: Interactions;
}
