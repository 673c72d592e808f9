/** Steps that pages of a sign-in take with it. */
import type { Context } from 'koa';
import type { Account } from '../../directory/index.js';
import type { Interaction, KnownAccount, SignIn } from './interaction.js';
import type { SignInWays } from './sign-in-method.js';

/**
 * Steps of a sign-in in the browser of the request. A method returns undefined if the step is over or belongs to another browser. The request is then
 * answered: by a page, or by a redirect that restarts the other browser's sign-in in this one.
 */
export interface Interactions {
  load(ctx: Context): Promise<Interaction | undefined>;
  /** Returns the methods by which people may sign in, according to the request and, if only one tenant is allowed, its policy. */
  ways(interaction: Interaction): Promise<SignInWays>;
  /** Returns the provider that a method knows for an e-mail address or user name. */
  idpOf(interaction: Interaction, identifier: string): Promise<string | undefined>;
  /** Sends the browser to the method of a provider. Returns false if no method may be used for the provider. */
  begin(ctx: Context, interaction: Interaction, idp: string): Promise<boolean>;
  /**
   * Signs the user in, and returns the URL to continue at. Returns undefined if the sign-in was refused: the proof no longer holds, the request requires
   * another `idp`, or the user's tenant allows only other methods. With `act`, also if the impersonator is not signed in in this browser.
   */
  signIn(ctx: Context, interaction: Interaction, signIn: SignIn): Promise<string | undefined>;
  /**
   * Signs in the user of a proof that an extension collected on its own page (`signIn` of `signIn.require`). Returns the URL to continue at, or undefined
   * if there is no such proof or it no longer holds.
   */
  proven(ctx: Context, interaction: Interaction): Promise<string | undefined>;
  /** Continues as an account of this browser, and returns the URL to continue at. Returns undefined if that account has to sign in first. */
  select(ctx: Context, interaction: Interaction, oid: string): Promise<string | undefined>;
  /**
   * Adds a proof to the sign-in: members of `amr` such as `mfa`. The sign-in keeps its time and everything that came of it. Returns undefined if no user is
   * signed in, another user is signed in now, or the user is impersonated.
   */
  strengthen(ctx: Context, interaction: Interaction, amr: readonly string[]): Promise<string | undefined>;
  /** Continues with the next open step, and returns its URL. The same page is shown again if the extension has not recorded that it is done. */
  goOn(ctx: Context, interaction: Interaction): Promise<string>;
  /** Shows the page of the requirement that the interaction waits for. */
  showRequirement(ctx: Context, interaction: Interaction): Promise<void>;
  allow(ctx: Context, interaction: Interaction): Promise<string>;
  abort(ctx: Context, interaction: Interaction): Promise<string>;
  /** Returns the signed-in account, and the accounts linked to it that the sign-in may select: in tenants whose users may sign in here. */
  own(ctx: Context, interaction: Interaction): Promise<readonly Account[]>;
  /** Returns the accounts that this browser may select, or that signed in here before. */
  accounts(ctx: Context, interaction: Interaction): Promise<readonly KnownAccount[]>;
  /** Returns ids of accounts that signed in from this browser before. Reads only a cookie that is valid in this browser alone, and looks nothing up. */
  remembered(ctx: Context): readonly string[];
  /** Removes an account from the remembered ones. */
  forget(ctx: Context, oid: string): void;
  /**
   * Returns the URL that restarts a sign-in; undefined if the sign-in is unknown, or only its client may restart it.
   * @param prompt the person's choice in place of a sign-in. `resume`: none, because the person has signed in in the meantime
   * @param acrValues that replace those of the request
   */
  restart(
    ctx: Context,
    uid: string,
    prompt?: 'create' | 'login' | 'resume' | 'select_account',
    acrValues?: string,
  ): Promise<string | undefined>;
}
