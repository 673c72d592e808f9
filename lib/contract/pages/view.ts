/**
 * Pages of extensions, and what extensions add to pages of the service.
 *
 * This file is the view of a page: the parts on it, and not their look. The sign-in pages draw it. `page-additions` has texts, links and buttons
 * that an extension adds.
 */
import type { Locale } from '../../display/locales.js';
import type { Html } from '../../http/pages/html.js';
import type { Client, Tenant } from '../../store/records/records.js';
import type { Interaction } from '../sign-in/interaction.js';
import type { ScopeWords } from './scope-words.js';

/** What a language makes of a time or a number. */
export interface InLanguage {
  readonly inLanguage: (locale: Locale) => string;
}

/** Words: a key of the extension's `texts`, one with the values of its placeholders, a name that is the same in every language, or {@link InLanguage}. */
export type Text =
  | string
  | { readonly key: string; readonly values: Readonly<Record<string, string | InLanguage>> }
  | { readonly plain: string }
  | InLanguage;

/**
 * A time in UTC, for mails: the text has to say so, because nobody knows the zone of its reader.
 * @example
 * ```ts
 * import { type Text, utcTime } from 'tenant-idp/extension';
 *
 * export const until = (at: Date): Text => ({ key: 'badges.mail.until', values: { time: utcTime(at) } });
 * ```
 */
export const utcTime = (at: Date): InLanguage => ({
  inLanguage: (locale) => new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(at),
});

/** A field of a form on a page of an extension. */
export interface FieldPart<Words> {
  readonly part: 'field';
  readonly name: string;
  readonly label: Words;
  readonly isOptional?: boolean;
  /** What is wrong with it. */
  readonly problem?: Words;
}

/** @typeParam Words as the extension gives them, or in the page's language. */
export type ViewPart<Words = Text> =
  /** With `isForNoScript`, for browsers alone where no JavaScript runs. */
  | { readonly part: 'text'; readonly text: Words; readonly isForNoScript?: boolean }
  | { readonly part: 'list'; readonly items: readonly Words[] }
  /** `href`: http(s), or a path of this origin. */
  | { readonly part: 'link'; readonly text: Words; readonly href: string }
  /** A labelled input. `code` is for digits that were sent or are shown elsewhere. */
  | (FieldPart<Words> & {
      readonly kind?: 'text' | 'code';
      /** @default off */
      readonly autocomplete?: string;
      readonly value?: string;
    })
  /** A labelled input of a password, in a view with a `form`. */
  | (FieldPart<Words> & {
      readonly kind: 'password';
      readonly autocomplete: 'current-password' | 'new-password';
      /**
       * The user name under which a password manager saves the password: a text, for a hidden input that is not posted, or the name of a field of the
       * view whose `autocomplete` is `username`. A page that must not reveal who has an account shows only a name that was typed.
       */
      readonly userName: string | { readonly field: string };
    })
  /** A QR code of the content. `label` says what it is for. */
  | { readonly part: 'qr'; readonly content: string; readonly label: Words }
  /** Lines to be copied character by character, under their label. */
  | { readonly part: 'copy'; readonly name: string; readonly label: Words; readonly lines: readonly string[] }
  /**
   * A button for the page's script, which shows it and handles it. The script finds it by `data-action`, its value in `data-value`, and what the button
   * may say when it is done in `data-done`.
   */
  | {
      readonly part: 'action';
      readonly text: Words;
      readonly action: string;
      readonly value?: string;
      readonly done?: Words;
      readonly look?: 'neutral' | 'quiet';
    }
  /** Posts `yes` under its name when it is ticked. */
  | { readonly part: 'check'; readonly name: string; readonly label: Words; readonly isTicked?: boolean }
  /** Accounts and the like, with what can be done with each. */
  | {
      readonly part: 'entries';
      readonly entries: readonly {
        readonly title: Words;
        readonly lines?: readonly Words[];
        /** A button that submits the form. `about` names the entry, for those who do not see what the button stands beside. */
        readonly action?: { readonly text: Words; readonly about: Words; readonly name: string; readonly value: string };
      }[];
    }
  /** Pages to go to, each with what is there. `href`: http(s), or a path of this origin. */
  | {
      readonly part: 'links';
      readonly links: readonly { readonly title: Words; readonly lines?: readonly Words[]; readonly href: string }[];
    }
  /** Entries of which one is pressed. */
  | {
      readonly part: 'choices';
      readonly name: string;
      readonly choices: readonly { readonly value: string; readonly title: Words; readonly lines?: readonly Words[] }[];
    }
  /** What is known of something, each under its label. */
  | { readonly part: 'facts'; readonly facts: readonly { readonly label: Words; readonly value: Words }[] }
  /** What somebody else says, set apart from the page's own words: markup that the extension made of it, within which nothing is drawn outside. */
  | { readonly part: 'quote'; readonly label: Words; readonly quote: Html }
  /** Scopes in words, as where a person is asked for consent. */
  | { readonly part: 'scopes'; readonly label: Words; readonly scopes: readonly ({ readonly name: string } & ScopeWords)[] }
  /** Submits the form. The first is the one that Enter presses. */
  | { readonly part: 'button'; readonly text: Words; readonly name?: string; readonly value?: string; readonly look?: 'neutral' | 'quiet' }
  /** Markup of the template `html`, without styles or scripts of its own: none would be applied. */
  | { readonly part: 'markup'; readonly markup: Html };

export interface View {
  readonly title: Text;
  readonly lead?: Text;
  /** What went wrong, said on top. */
  readonly problem?: Text;
  /** @default 200 */
  readonly status?: number;
  /** The sign-in that the page is a step of: its client, look and language are the page's. */
  readonly interaction?: Interaction;
  /** Without an interaction: whose look the page has. */
  readonly client?: Client;
  readonly tenant?: Tenant;
  /** Without an interaction: languages that are wanted before those of the browser, as `ui_locales` has them. */
  readonly uiLocales?: string;
  /** The form that all parts are in. Its fields `csrf` and, in an interaction, the button to cancel are added. */
  readonly form?: {
    /** An absolute URL of the service. */
    readonly action: string;
    /** What `csrf.check` is asked about. @default the interaction's `uid` */
    readonly subject?: string;
    /** Hidden fields. */
    readonly fields?: Readonly<Record<string, string>>;
  };
  readonly parts: readonly ViewPart[];
  /** Runs once the whole page is there: a constant, whose hash is in the page's policy. Without it, no script runs. It may call nobody. */
  readonly script?: string;
}
