/** What the pages of a sign-in can do with it. */
import type { Context } from 'koa';
import type { Account } from '../../directory/index.js';
import type { Interaction, KnownAccount, SignIn } from './interaction.js';
import type { SignInWays } from './sign-in-method.js';

/**
 * Sign-in steps of the browser that asks. A step that is over, or is another browser's, is undefined, and the request answered: by a page, or by GET
 * with the other browser's request begun anew in this one.
 */
export interface Interactions {
  load(ctx: Context): Promise<Interaction | undefined>;
  /** How people may sign in, by the request and, where one alone is allowed, its tenant. */
  ways(interaction: Interaction): Promise<SignInWays>;
  /** The provider that a method knows for an e-mail or user name. */
  idpOf(interaction: Interaction, identifier: string): Promise<string | undefined>;
  /** Hands the browser to the method of a provider; false where none may be used for it. */
  begin(ctx: Context, interaction: Interaction, idp: string): Promise<boolean>;
  /**
   * Signs in, and answers the URL to go on to. Undefined where nobody is signed in by it: the proof holds no more, the request asks for another `idp`, or the
   * user's tenant allows other methods alone; with `act`, also where the browser is not signed in as who is to act.
   */
  signIn(ctx: Context, interaction: Interaction, signIn: SignIn): Promise<string | undefined>;
  /**
   * Signs in whom an extension had prove it on a page of its own (`signIn` of `signIn.require`): answers the URL to go on to; undefined where there is no such
   * proof, or it holds no more.
   */
  proven(ctx: Context, interaction: Interaction): Promise<string | undefined>;
  /** Goes on as an account of this browser, and answers the URL to go on to. Undefined when that account has to sign in first. */
  select(ctx: Context, interaction: Interaction, oid: string): Promise<string | undefined>;
  /**
   * Adds what the signed-in user proved beside the sign-in, members of `amr` such as `mfa`: the sign-in goes on, with its time and all that came of it.
   * Undefined when nobody is signed in, somebody else by now, or somebody who acts as the user.
   */
  strengthen(ctx: Context, interaction: Interaction, amr: readonly string[]): Promise<string | undefined>;
  /** Goes on to what is still open: what the extension keeps of its page decides whether that is the same page again. */
  goOn(ctx: Context, interaction: Interaction): Promise<string>;
  /** Shows the page of the requirement that the interaction waits for. */
  showRequirement(ctx: Context, interaction: Interaction): Promise<void>;
  allow(ctx: Context, interaction: Interaction): Promise<string>;
  abort(ctx: Context, interaction: Interaction): Promise<string>;
  /** The account that is signed in, and those linked to it that the sign-in is good for: of tenants whose users may sign in here. */
  own(ctx: Context, interaction: Interaction): Promise<readonly Account[]>;
  /** Accounts that this browser may go on as, or signed in with before. */
  accounts(ctx: Context, interaction: Interaction): Promise<readonly KnownAccount[]>;
  /** The accounts that signed in from this browser before, by a cookie that holds in it alone: nothing is looked up. */
  remembered(ctx: Context): readonly string[];
  /** Takes an account off those that signed in before. */
  forget(ctx: Context, oid: string): void;
  /**
   * The URL that begins a sign-in's request anew; undefined when nothing is known of it, or its client alone may begin it.
   * @param prompt what the person wants in the place of a sign-in; `resume`: nothing, because they signed in meanwhile
   * @param acrValues in the place of those of the request
   */
  restart(
    ctx: Context,
    uid: string,
    prompt?: 'create' | 'login' | 'resume' | 'select_account',
    acrValues?: string,
  ): Promise<string | undefined>;
}
