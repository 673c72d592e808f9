/** Steps of a sign-in that its pages call. */
import type { Context } from 'koa';
import type { Account } from '../../directory/index.js';
import type { Interaction, KnownAccount, SignIn } from './interaction.js';
import type { SignInWays } from './sign-in-method.js';

/**
 * Steps of a sign-in in the browser of the request. A method returns undefined if the step has ended or belongs to another browser. The method has then
 * answered the request: by a page, or by a redirect that restarts the other browser's sign-in in this browser.
 */
export interface Interactions {
  load(ctx: Context): Promise<Interaction | undefined>;
  /** Returns the methods by which users may sign in. The request decides, and if only one tenant is allowed, also its policy. */
  ways(interaction: Interaction): Promise<SignInWays>;
  /** Returns the provider that a method knows for an e-mail address or user name. */
  idpOf(interaction: Interaction, identifier: string): Promise<string | undefined>;
  /** Sends the browser to the method of a provider. Returns false if no method may be used for the provider. */
  begin(ctx: Context, interaction: Interaction, idp: string): Promise<boolean>;
  /**
   * Signs the user in, and returns the URL to continue at. Returns undefined if the sign-in was refused, for one of these reasons:
   * - The proof is no longer valid.
   * - The request requires another `idp`.
   * - The user's tenant allows only other methods.
   * - With `act`, the impersonator is not signed in in this browser.
   */
  signIn(ctx: Context, interaction: Interaction, signIn: SignIn): Promise<string | undefined>;
  /**
   * Signs in the user of a proof that an extension collected on its own page (`signIn` of `signIn.require`). Returns the URL to continue at. Returns
   * undefined if there is no such proof, or if the proof is no longer valid.
   */
  proven(ctx: Context, interaction: Interaction): Promise<string | undefined>;
  /** Continues as an account of this browser, and returns the URL to continue at. Returns undefined if that account has to sign in first. */
  select(ctx: Context, interaction: Interaction, oid: string): Promise<string | undefined>;
  /**
   * Adds a proof to the sign-in: members of `amr` such as `mfa`. The sign-in keeps its time, grants and tokens. Returns undefined if no user is signed in,
   * if another user is signed in now, or if the user is impersonated.
   */
  strengthen(ctx: Context, interaction: Interaction, amr: readonly string[]): Promise<string | undefined>;
  /**
   * Continues with the next open step, and returns the URL of the step. The same page is shown again if the extension has not recorded that its step is
   * done.
   */
  goOn(ctx: Context, interaction: Interaction): Promise<string>;
  /** Shows the page of the requirement that the interaction waits for. */
  showRequirement(ctx: Context, interaction: Interaction): Promise<void>;
  allow(ctx: Context, interaction: Interaction): Promise<string>;
  abort(ctx: Context, interaction: Interaction): Promise<string>;
  /**
   * Returns the signed-in account, and the linked accounts that the sign-in may select. Only accounts of tenants whose users may sign in here are returned.
   */
  own(ctx: Context, interaction: Interaction): Promise<readonly Account[]>;
  /** Returns the accounts that this browser may select, or that signed in here before. */
  accounts(ctx: Context, interaction: Interaction): Promise<readonly KnownAccount[]>;
  /** Returns ids of accounts that signed in from this browser before. The ids come from a cookie that is valid only in this browser, without a look-up. */
  remembered(ctx: Context): readonly string[];
  /** Removes an account from the remembered accounts. */
  forget(ctx: Context, oid: string): void;
  /**
   * Returns the URL that restarts a sign-in. Undefined if the sign-in is unknown, or if only its client may restart the sign-in.
   * @param prompt the person's choice in place of a sign-in. `resume`: no choice, because the person has signed in in the meantime
   * @param acrValues that replace the `acr_values` of the request
   */
  restart(
    ctx: Context,
    uid: string,
    prompt?: 'create' | 'login' | 'resume' | 'select_account',
    acrValues?: string,
  ): Promise<string | undefined>;
}
