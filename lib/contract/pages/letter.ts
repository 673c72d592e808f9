/** A mail of an extension: its content. The extension with the pages draws it. */

import type { Locale } from '../../display/locales.js';
import type { Client, Person, Tenant } from '../../store/records/records.js';
import type { Text } from './view.js';

/** A mail, ready to be sent. The mail loads nothing from other hosts. */
export interface MailMessage {
  readonly to: string;
  readonly subject: string;
  /** The whole message as plain text. */
  readonly text: string;
  /** The whole message as HTML. */
  readonly html: string;
  /** Language of the mail. */
  readonly locale: Locale;
  /** Kind of the mail: `invitation` … */
  readonly kind: string;
  /** Id of the tenant that the mail is sent for. */
  readonly tid: string;
  /** Id of the client that the mail is sent for. */
  readonly clientId?: string;
}

/** Source of the look of a page or a mail: the client, else the tenant. */
export interface Look {
  readonly client?: Client;
  readonly tenant?: Tenant;
}

/** @typeParam Words as the extension gives them, or in the mail's language. */
export type LetterPart<Words = Text> =
  | { readonly part: 'text'; readonly text: Words }
  /** Text in smaller letters. */
  | { readonly part: 'note'; readonly text: Words }
  /** A link to an absolute URL. */
  | { readonly part: 'button'; readonly text: Words; readonly href: string };

/**
 * Rate limit of a letter, by who can cause it. Each limit has its own count, so that nobody can use up the mails that notify users of changes.
 * - `account`: only the user, an administrator of the tenant, or the service, such as a notice of a change. Counted by address and tenant.
 * - `anybody`: also a person who only knows the address, or an administrator of another tenant, such as a reset link or an invitation.
 * - `frequent`: the user, many times in an hour. Counted by address and tenant. A letter above this rate limit is not sent, and the service logs it.
 *
 * A letter above another rate limit is rejected, so that the letter is retried.
 */
export type LetterLimit = 'account' | 'anybody' | 'frequent';

/** A mail to one recipient, before it is written in a language and look. */
export interface Letter {
  /** Address of the recipient. */
  readonly to: string;
  /** Kind of the letter, for the host: `invitation` … */
  readonly kind: string;
  /** Tenant whose look and language the letter has. */
  readonly tid: string;
  /** Client whose look the letter has. @default the look of the tenant */
  readonly clientId?: string;
  /**
   * The person that the letter is for. If the person has a language of the option `locales`, the letter is in this language. Leave `person` out only if the
   * recipient may not be a person of the directory.
   */
  readonly person?: Pick<Person, 'locale'>;
  /** A language tag, for a person without a language. @default the tenant's, then the first of the option `locales` */
  readonly locale?: string;
  readonly rateLimit: LetterLimit;
  readonly subject: Text;
  readonly parts: readonly LetterPart[];
}

/** Writes a letter in its language and look. The mail loads nothing from other hosts. */
export type WriteLetter = (letter: Letter, look: Look) => MailMessage;

/** The mail of the host, as extensions use it. */
export interface Mail {
  /**
   * Gives a letter to the host's mail. Call `send` in a handler of `deliveries`, because a delivery is retried after a rejection.
   * @throws Error if the host does not take the mail within 30 seconds, or if the address got five mails of the same {@link LetterLimit} in the last hour.
   */
  send(letter: Letter): Promise<void>;
}
