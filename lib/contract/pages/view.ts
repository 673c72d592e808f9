/**
 * Pages of extensions.
 *
 * Declares the view of a page: the parts of the page, without their look. The sign-in pages draw the view. `page-additions` declares texts, links and
 * buttons that an extension adds to pages of the service.
 */
import type { Locale } from '../../display/locales.js';
import type { Html } from '../../http/pages/html.js';
import type { Client, Tenant } from '../../store/records/records.js';
import type { Interaction } from '../sign-in/interaction.js';
import type { ScopeWords } from './scope-words.js';

/** Returns a time or a number as a text of a language. */
export interface InLanguage {
  readonly inLanguage: (locale: Locale) => string;
}

/**
 * A text, in one of four forms:
 * - a key of the extension's `texts`,
 * - a key with the values of its placeholders,
 * - a name that is the same in every language,
 * - {@link InLanguage}.
 */
export type Text =
  | string
  | { readonly key: string; readonly values: Readonly<Record<string, string | InLanguage>> }
  | { readonly plain: string }
  | InLanguage;

/**
 * Returns a time in UTC, for mails. The text has to state UTC, because the time zone of the reader is unknown.
 * @param timeStyle `short` has minutes, and `long` has seconds and states UTC
 * @example
 * ```ts
 * import { type Text, utcTime } from 'tenant-idp/extension';
 *
 * export const until = (at: Date): Text => ({ key: 'badges.mail.until', values: { time: utcTime(at) } });
 * ```
 */
export const utcTime = (at: Date, timeStyle: 'short' | 'long' = 'short'): InLanguage => ({
  inLanguage: (locale) => utcFormat(locale, { timeStyle }).format(at),
});

/**
 * Returns a day in UTC, because the time zone of the reader is unknown.
 * @example
 * ```ts
 * import { type Text, utcDay } from 'tenant-idp/extension';
 *
 * export const since = (at: Date): Text => ({ key: 'badges.since', values: { day: utcDay(at) } });
 * ```
 */
export const utcDay = (at: Date): InLanguage => ({ inLanguage: (locale) => utcFormat(locale).format(at) });

/** Formats English dates as in Britain, because the English texts are British. */
const utcFormat = (locale: string, options: Intl.DateTimeFormatOptions = {}): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat(locale === 'en' ? 'en-GB' : locale, { dateStyle: 'long', timeZone: 'UTC', ...options });

/** A field of a form on a page of an extension. */
export interface FieldPart<Words> {
  readonly part: 'field';
  readonly name: string;
  readonly label: Words;
  readonly isOptional?: boolean;
  /** Purpose or rule of the field, shown between the label and the input. */
  readonly hint?: Words;
  /** Problem of the field, shown next to it. */
  readonly problem?: Words;
}

/** @typeParam Words as the extension gives them, or in the page's language. */
export type ViewPart<Words = Text> =
  /** A paragraph. With `isForNoScript`, only for browsers without JavaScript. */
  | { readonly part: 'text'; readonly text: Words; readonly isForNoScript?: boolean }
  /** A heading of the parts below it. */
  | { readonly part: 'heading'; readonly text: Words }
  | { readonly part: 'list'; readonly items: readonly Words[] }
  /** `href`: http(s), or a path of this origin. With a `look`, the link has the look of a button. */
  | { readonly part: 'link'; readonly text: Words; readonly href: string; readonly look?: 'filled' | 'quiet' }
  /** A labelled input. `code` is for digits that the user got elsewhere. */
  | (FieldPart<Words> & {
      readonly kind?: 'text' | 'code';
      /** @default off */
      readonly autocomplete?: string;
      readonly value?: string;
    })
  /** A labelled list from which the user selects one entry. `lang` is the language of the entry's title, if the page has another language. */
  | (FieldPart<Words> & {
      readonly kind: 'select';
      /** @default off */
      readonly autocomplete?: string;
      readonly value: string;
      readonly options: readonly { readonly value: string; readonly title: Words; readonly lang?: string }[];
    })
  /** A labelled input for a password, in a view with a `form`. */
  | (FieldPart<Words> & {
      readonly kind: 'password';
      readonly autocomplete: 'current-password' | 'new-password';
      /**
       * The user name under which a password manager saves the password. A text becomes a hidden input that is not posted. `field` names a field of the
       * view whose `autocomplete` is `username`. A page that must not reveal who has an account shows only a name that the user typed.
       */
      readonly userName: string | { readonly field: string };
    })
  /** A QR code of the content. `label` states the purpose of the QR code. */
  | { readonly part: 'qr'; readonly content: string; readonly label: Words }
  /** Lines to be copied character by character, under their label. */
  | { readonly part: 'copy'; readonly name: string; readonly label: Words; readonly lines: readonly string[] }
  /**
   * A button for the page's script, which shows and handles it. The script finds it by `data-action`, its value in `data-value`, and its text after success
   * in `data-done`. `lines` as in `button`.
   */
  | {
      readonly part: 'action';
      readonly text: Words;
      readonly lines?: readonly Words[];
      readonly action: string;
      readonly value?: string;
      readonly done?: Words;
      readonly look?: 'quiet';
    }
  /** A checkbox. Posts `yes` under its name if it is ticked. */
  | { readonly part: 'check'; readonly name: string; readonly label: Words; readonly isTicked?: boolean }
  /** A list of entries, such as accounts, with an action for each entry. */
  | {
      readonly part: 'entries';
      readonly entries: readonly {
        readonly title: Words;
        /** One or two words that distinguish the entry from the others, such as “this browser”. */
        readonly badge?: Words;
        readonly lines?: readonly Words[];
        /** Whether the title is the name of a person, which gets the person's initials. @default false */
        readonly isPerson?: boolean;
        /** A button that submits the form. `about` names the entry, for screen readers. */
        readonly action?: { readonly text: Words; readonly about: Words; readonly name: string; readonly value: string };
      }[];
    }
  /** Links to pages, each with a description. `href`: http(s), or a path of this origin. */
  | {
      readonly part: 'links';
      readonly links: readonly { readonly title: Words; readonly lines?: readonly Words[]; readonly href: string }[];
    }
  /** Entries of which the user selects one. `isPerson` as in `entries`. */
  | {
      readonly part: 'choices';
      readonly name: string;
      readonly choices: readonly {
        readonly value: string;
        readonly title: Words;
        readonly lines?: readonly Words[];
        readonly isPerson?: boolean;
      }[];
    }
  /** Facts, each under its label. With `seconds`, the value is a time that the page's script counts down: it finds the value by `data-seconds`. */
  | { readonly part: 'facts'; readonly facts: readonly { readonly label: Words; readonly value: Words; readonly seconds?: number }[] }
  /**
   * Content of another party, set apart from the page's own text. The extension creates the markup. Nothing of the content is drawn outside of its frame.
   * With `isCode`, the content is a short code that the user compares, in large letters.
   */
  | { readonly part: 'quote'; readonly label: Words; readonly quote: Html; readonly isCode?: boolean }
  /** Descriptions of scopes, as on the consent page. */
  | { readonly part: 'scopes'; readonly label: Words; readonly scopes: readonly ({ readonly name: string } & ScopeWords)[] }
  /** Submits the form. Enter presses the first button. With `lines`, the button is an entry of a choice, and each line explains it. */
  | {
      readonly part: 'button';
      readonly text: Words;
      readonly lines?: readonly Words[];
      readonly name?: string;
      readonly value?: string;
      /** `warning`: a button that takes something away, or that is for a user whom an attacker tries to deceive. */
      readonly look?: 'quiet' | 'warning';
    }
  /** An entry of a choice that opens in place: parts behind a title and a sentence. Works without JavaScript. */
  | {
      readonly part: 'details';
      readonly title: Words;
      readonly line: Words;
      readonly isOpen?: boolean;
      readonly parts: readonly ViewPart<Words>[];
    }
  /** Markup of the template `html`. The markup cannot have styles or scripts, because the page's policy blocks them. */
  | { readonly part: 'markup'; readonly markup: Html };

export interface View {
  readonly title: Text;
  readonly lead?: Text;
  /** Error of the page, shown at its top. */
  readonly problem?: Text;
  /** @default 200 */
  readonly status?: number;
  /** The sign-in that the page is a step of. The page has its client, look and language. */
  readonly interaction?: Interaction;
  /** Client whose look the page has, if there is no interaction. */
  readonly client?: Client;
  readonly tenant?: Tenant;
  /** Languages that are preferred to the browser's languages, in the form of `ui_locales`, if there is no interaction. */
  readonly uiLocales?: string;
  /** The form around all parts. The page adds the field `csrf` and, in an interaction, the button to cancel. */
  readonly form?: {
    /** An absolute URL of the service. */
    readonly action: string;
    /** Subject for `csrf.check`. @default the interaction's `uid` */
    readonly subject?: string;
    /** Hidden fields. */
    readonly fields?: Readonly<Record<string, string>>;
  };
  readonly parts: readonly ViewPart[];
  /**
   * Script that runs after the page is complete: a constant, whose hash is in the page's policy. If this member is absent, no script runs. The script
   * cannot send requests.
   */
  readonly script?: string;
}
