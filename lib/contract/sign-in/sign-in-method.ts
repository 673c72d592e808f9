/** Sign-in methods in addition to the password: another identity provider, an e-ID, a passkey. */
import type { Context } from 'koa';
import type { Awaitable } from '../../awaitable.js';
import type { Locale } from '../../display/locales.js';
import type { Interaction } from './interaction.js';

/** A button on the sign-in pages that starts a sign-in by a provider. */
export interface SignInButton {
  /** The provider of the sign-in. */
  readonly idp: string;
  /** A key of the extension's `texts`, or the text in each language of the pages. */
  readonly label: string | Readonly<Record<Locale, string>>;
  /** Script of a button that needs JavaScript. Without JavaScript, the button is not shown. */
  readonly script?: ButtonScript;
}

/** Script of a button. The button is hidden until the script shows it. */
export interface ButtonScript {
  /** A constant, whose hash is in the page's policy. The script cannot send requests. */
  readonly source: string;
  /** Value for the script on this page: the button's `data-value`. */
  readonly value: string;
}

export interface SignInMethod {
  /** Name of the method, of characters that a name in `acr_values` may have. `password` and `local` are reserved. */
  readonly name: string;
  /**
   * Returns whether the name is currently a provider of the method. Providers may be requested by `idp:` in `acr_values`. Providers may be in
   * `signIn.methods` of a tenant. A provider is the `idp` of the method's sign-ins.
   * @param tid id of the tenant whose `signIn.methods` has the name. Absent: whether such a provider exists at all
   * @default only the method's own name
   */
  readonly serves?: (idp: string, tid?: string) => Awaitable<boolean>;
  /**
   * Whether users prove their identity to the service itself. The `idp` of the method's sign-ins is then `local`, and their `method` is the method's name.
   * @default false
   */
  readonly isLocal?: boolean;
  /** Returns the buttons for the sign-in page. The page shows only buttons that the request and its tenant allow. @default none */
  readonly buttons?: (interaction: Interaction) => Awaitable<readonly SignInButton[]>;
  /** Returns the provider at which users with this e-mail address or user name sign in. If undefined, the page asks for a password. @default undefined */
  readonly idpOf?: (identifier: string, interaction: Interaction) => Awaitable<string | undefined>;
  /**
   * Starts the method: shows a page, or redirects the browser. The answer comes to a route of the extension, which ends in `interactions.signIn` with this
   * `idp` (`local` for a local method), or in `abort`.
   *
   * The `parameters` of the interaction have `eid_user_visible_data` and `eid_user_visible_data_format` as the application sent them. If a person approves
   * a request of CIBA, the first parameter holds the `binding_message` of the request. `eid_call_initiator` then states who began, because an e-ID
   * distinguishes `user` from `RP`. In a request of an application (`isInternal` is not set), `eid_call_initiator` has no meaning. @see service
   * specification §4.2
   */
  begin(ctx: Context, interaction: Interaction, idp: string): Awaitable<void>;
}

/** Methods by which users may sign in in an interaction. */
export interface SignInWays {
  readonly password: boolean;
  /** The provider to start immediately, because the request names it or no other method is allowed. */
  readonly only?: string;
  readonly buttons: readonly SignInButton[];
}
