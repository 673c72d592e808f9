/** A mail of an extension, in the look of the pages: what it says, and not how. */

import type { Locale } from '../../display/locales.js';
import type { Client, Tenant } from '../../store/records/records.js';
import type { Text } from './view.js';

/** A mail, ready to be sent. It loads nothing from elsewhere. */
export interface MailMessage {
  readonly to: string;
  readonly subject: string;
  /** The whole message as plain text. */
  readonly text: string;
  /** The same as HTML. */
  readonly html: string;
  /** The language that it is written in. */
  readonly locale: Locale;
  /** What it is about: `invitation` … */
  readonly kind: string;
  /** The tenant that it is sent for. */
  readonly tid: string;
  /** The client that it is sent for. */
  readonly clientId?: string;
}

/** Whose look a page or a mail has: the client's, else the tenant's. */
export interface Look {
  readonly client?: Client;
  readonly tenant?: Tenant;
}

/** @typeParam Words as the extension gives them, or in the mail's language. */
export type LetterPart<Words = Text> =
  | { readonly part: 'text'; readonly text: Words }
  /** In smaller letters. */
  | { readonly part: 'note'; readonly text: Words }
  /** Leads to an absolute URL. */
  | { readonly part: 'button'; readonly text: Words; readonly href: string };

export interface Letter {
  readonly to: string;
  /** What it is about, for the host: `invitation` … */
  readonly kind: string;
  readonly tid: string;
  readonly clientId?: string;
  /** A language tag. @default the tenant's, then the first of the option `locales` */
  readonly locale?: string;
  readonly subject: Text;
  readonly parts: readonly LetterPart[];
}

/** Writes a letter in its language and look. It loads nothing from elsewhere. */
export type WriteLetter = (letter: Letter, look: Look) => MailMessage;

export interface Mail {
  /**
   * Hands a letter to the host's mail: call it in a handler of `deliveries`, which tries again what it rejects.
   * @throws Error when the mail was not taken within 30 seconds, or the address got five in the last hour.
   */
  send(letter: Letter): Promise<void>;
}
