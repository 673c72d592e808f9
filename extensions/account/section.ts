/** Sections of the account page that this extension has itself. Each section is a page in a file of its own. */
import type { AccountSection, ExtensionContext, ExtensionRouter, InternalClients } from '../../lib/extension-door.js';

/** A section and its page. */
export interface Section extends AccountSection {
  /** Returns the internal client that users sign in to before they see the page. */
  readonly clients: (context: ExtensionContext) => InternalClients;
  readonly routes: (router: ExtensionRouter, context: ExtensionContext) => void;
}
