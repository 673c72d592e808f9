import type { Context } from 'koa';
import type { Locale } from '../../display/locales.js';
import type { Client } from '../../store/records/records.js';
import type { AccountSection } from '../pages/account-section.js';
import type { Look } from '../pages/letter.js';
import type { PageAddition } from '../pages/page-additions.js';
import type { ScopeWords } from '../pages/scope-words.js';
import type { View } from '../pages/view.js';
import type { OutgoingForm } from '../sign-in/sign-in-request.js';

/** The group `pages` of the context: pages in the look of the sign-in pages, and their texts. */
export interface ExtensionPages {
  /** Shows a page of the extension in the look of the sign-in pages, with its strict headers. @throws TypeError for a text that does not exist */
  view(ctx: Context, view: View): Promise<void>;
  /**
   * Has the browser post a form to another site, by a page that submits the form by itself. @throws TypeError for an action that is not an http or https
   * URL
   */
  sendForm(ctx: Context, form: OutgoingForm): Promise<void>;
  /** Returns the look of a mail, or of a page without an interaction: the tenant, and the client if it is active. */
  brandingOf(tid: string, clientId?: string): Promise<Look>;
  /**
   * Returns an application that users sign in to, for its name and look: an active client, or an internal client of an extension. Undefined for an unknown or
   * disabled client, and for a page of the service itself.
   */
  application(id: string): Promise<Client | undefined>;
  /** Returns whether the client of a sign-in is a page of the service itself, which has no name of its own. */
  isOwnPage(client: Client): boolean;
  /** Returns the texts of all extensions in a language. */
  texts(locale: Locale): Readonly<Record<string, string>>;
  /** Returns scopes with the texts of the claim set or API resource that declares them. */
  scopeDescriptions(): Promise<ReadonlyMap<string, ScopeWords>>;
  /** Texts and links that extensions add to the pages of a sign-in. */
  readonly additions: readonly PageAddition[];
  /** Sections that extensions add to the account page. */
  readonly accountSections: readonly AccountSection[];
}
