/** A sign-in as extensions take part in it: its steps, and what they can end in. */
import type { Context } from 'koa';
import type { Account, Proof } from '../directory/index.js';
import type { Client } from '../store/records.js';

/** How the user proved who they are. */
export interface SignIn {
  /** The user that becomes active. */
  readonly oid: string;
  readonly amr: readonly string[];
  /** `local`, or the external identity provider. */
  readonly idp: string;
  /** Of `directory.credentials`: pages may have come between the proof and its use. */
  readonly proof: Proof;
}

/** An account that a browser knows. */
export interface KnownAccount {
  readonly account: Account;
  /** Whether it takes no sign-in: it is the current one, or linked to it. */
  readonly isSignedIn: boolean;
}

/** A step of a sign-in that waits for the user. */
export interface Interaction {
  readonly uid: string;
  /** The browser that it belongs to: the hash of a secret that no other knows. */
  readonly browser: string;
  readonly prompt: 'login' | 'consent' | 'select_account' | 'create' | 'requirement';
  /** The requirement whose page is wanted, where `prompt` says so. */
  readonly requirement?: string;
  readonly client: Client;
  /** The authorization request. */
  readonly parameters: Readonly<Record<string, string>>;
  /** Tenants whose users may sign in here, by the client and `tenant:`; undefined: all. */
  readonly tids?: readonly string[];
  /** The user that is signed in, if any. */
  readonly oid?: string;
  /** Whether the application can be sent a response: its redirect URI is still registered. */
  readonly isAnswerable: boolean;
  /** Scopes the user has not allowed yet; for a claim that is asked for by itself, the scope that would grant it. */
  readonly missingScopes: readonly string[];
}

/**
 * Sign-in steps of the browser that asks. A step that is over, or is another browser's, is undefined, and the request answered: by a page, or by GET
 * with the other browser's request begun anew in this one.
 */
export interface Interactions {
  load(ctx: Context): Promise<Interaction | undefined>;
  /** Each answers the URL to go on to; undefined when the proof holds no more. */
  signIn(ctx: Context, interaction: Interaction, signIn: SignIn): Promise<string | undefined>;
  /** Undefined when this account takes a sign-in. */
  select(ctx: Context, interaction: Interaction, oid: string): Promise<string | undefined>;
  /**
   * Adds what the signed-in user proved beside the sign-in, members of `amr` such as `mfa`: the sign-in goes on, with its time and all that came of it.
   * Undefined when nobody is signed in, or somebody else by now.
   */
  strengthen(ctx: Context, interaction: Interaction, amr: readonly string[]): Promise<string | undefined>;
  /** Goes on to what is still open: what the extension keeps of its page decides whether that is the same page again. */
  goOn(ctx: Context, interaction: Interaction): Promise<string>;
  /** Shows the page of the requirement that the interaction waits for. */
  showRequirement(ctx: Context, interaction: Interaction): Promise<void>;
  allow(ctx: Context, interaction: Interaction): Promise<string>;
  abort(ctx: Context, interaction: Interaction): Promise<string>;
  /** Accounts that this browser may go on as, or signed in with before. */
  accounts(ctx: Context, interaction: Interaction): Promise<readonly KnownAccount[]>;
  /** The accounts that signed in from this browser before, by a cookie that holds in it alone: nothing is looked up. */
  remembered(ctx: Context): readonly string[];
  /** Takes an account off those that signed in before. */
  forget(ctx: Context, oid: string): void;
  /** The URL that begins a sign-in's request anew; undefined when nothing is known of it, or its client alone may begin it. */
  restart(ctx: Context, uid: string): Promise<string | undefined>;
}
