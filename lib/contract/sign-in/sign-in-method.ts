/** A way to sign in beside the password: another identity provider, an e-ID, a key. */
import type { Context } from 'koa';
import type { Awaitable } from '../../awaitable.js';
import type { Locale } from '../../display/locales.js';
import type { Interaction } from './interaction.js';

/** A button of the sign-in pages that begins a sign-in elsewhere. */
export interface SignInButton {
  /** The provider that it begins with. */
  readonly idp: string;
  /** A key of the extension's `texts`, or the words in each of the pages' languages. */
  readonly label: string | Readonly<Record<Locale, string>>;
  /** Makes it a button that needs JavaScript: without it, the button is not there. */
  readonly script?: ButtonScript;
}

/** A script that a button is for: it shows the button, which is hidden, and handles it. */
export interface ButtonScript {
  /** A constant, whose hash is in the page's policy. It may call nobody. */
  readonly source: string;
  /** What it gets to know of this page: the button's `data-value`. */
  readonly value: string;
}

export interface SignInMethod {
  /** Letters that an `acr_values` name may have. `password` and `local` are taken. */
  readonly name: string;
  /**
   * Whether a name stands for a provider of the method, by now: such names may be asked for by `idp:` in `acr_values`, may be in `signIn.methods` of a
   * tenant, and are the `idp` of the sign-ins that the method makes.
   * @param tid the tenant whose `signIn.methods` names it; absent: whether there is such a provider at all
   * @default its own name alone
   */
  readonly serves?: (idp: string, tid?: string) => Awaitable<boolean>;
  /** Whether people prove something to the service itself: its sign-ins have the `idp` `local`, and the method's name as their `method`. @default false */
  readonly isLocal?: boolean;
  /** Its buttons on the sign-in page; of those, the ones that the request and its tenant allow are shown. @default none */
  readonly buttons?: (interaction: Interaction) => Awaitable<readonly SignInButton[]>;
  /** The provider that people of this e-mail or user name sign in at; undefined: they are asked for a password. @default undefined */
  readonly idpOf?: (identifier: string, interaction: Interaction) => Awaitable<string | undefined>;
  /**
   * Takes the browser over: shows a page, or sends it elsewhere. What comes back goes to a route of the extension, which ends in `interactions.signIn`
   * with this `idp` (`local` for a method that is), or in `abort`.
   *
   * The `parameters` of the interaction have `eid_user_visible_data` and `eid_user_visible_data_format` as the application sent them. For a person who
   * approves a request of CIBA they are its `binding_message`, and `eid_call_initiator` says who began: an e-ID tells `user` from `RP`. In a request that
   * an application makes itself (`isInternal` is not set) it means nothing. @see service specification §4.2
   */
  begin(ctx: Context, interaction: Interaction, idp: string): Awaitable<void>;
}

/** How people may sign in in an interaction. */
export interface SignInWays {
  readonly password: boolean;
  /** The provider to go to at once: it is asked for, or there is no other way. */
  readonly only?: string;
  readonly buttons: readonly SignInButton[];
}
