/** Texts and links that extensions add to the pages of every sign-in, and the catalogues of texts. */
import type { Awaitable } from '../../awaitable.js';
import { formatPath } from '../../config-problem.js';
import { type Locale, locales } from '../../display/locales.js';
import type { ConfigProblem } from '../../errors.js';
import { sharedClaims } from '../shared-claims.js';
import type { Interaction } from '../sign-in/interaction.js';

/** The part of an extension's context that the links of additions and sections get. */
export interface AdditionHost {
  readonly service: {
    /** Prefix of the service's own paths, as opposed to the paths of the protocol. */
    readonly own: string;
    /** Returns the absolute URL of a path below the issuer. */
    url(path: string): string;
  };
  readonly work: {
    /** Absent without the option `mail`. */
    readonly mail?: object;
  };
}

/** A text or a link on the pages of a sign-in. */
export interface PageAddition {
  /** Name of the addition, such as `privacy` or `help`. The names of all additions differ. */
  readonly name: string;
  /** A key of the extension's `texts`. */
  readonly text: string;
  /** URL of a link: an https URL, or a path of this origin. A function returns undefined to show nothing. */
  readonly href?: string | ((interaction: Interaction, host: AdditionHost) => string | undefined);
  /**
   * Place of the addition:
   * - `foot`: on every page.
   * - `password`: next to the password, as a button. The button posts `csrf` and `identifier` to the `href` of the addition, a URL of the service. The
   * password is not posted.
   * @default 'foot'
   */
  readonly place?: 'foot' | 'password';
  /** Returns the values of the text's placeholders; undefined to show nothing. */
  readonly values?: (interaction: Interaction) => Awaitable<Readonly<Record<string, string>> | undefined>;
}

/** Texts for each language of the pages, with the same keys. A key begins with the extension's name and a dot. */
export type ExtensionTexts = Readonly<Record<Locale, Readonly<Record<string, string>>>>;

interface WithPages {
  readonly name: string;
  readonly texts?: ExtensionTexts;
  readonly pageAdditions?: readonly PageAddition[];
}

/** Returns the problems of an extension's texts and additions. */
export function findPageProblems({ name, texts, pageAdditions = [] }: WithPages): readonly ConfigProblem[] {
  const path = (...rest: readonly string[]): string => formatPath(['extensions', name, ...rest]);
  const keys = Object.keys(texts?.en ?? {});
  const foreign = keys.filter((key) => !key.startsWith(`${name}.`));
  const incomplete = texts
    ? locales.filter((locale) => {
        const catalogue = texts[locale] ?? {};
        return Object.keys(catalogue).length !== keys.length || keys.some((key) => typeof catalogue[key] !== 'string');
      })
    : [];
  return [
    ...foreign.map((key) => ({ path: path('texts', 'en', key), expected: `a key that begins with '${name}.'` })),
    ...incomplete.map((locale) => ({
      path: path('texts', locale),
      expected: `a text for each key of en, and no others: ${keys.join(', ')}`,
    })),
    ...pageAdditions
      .filter(({ place, href }) => place === 'password' && href === undefined)
      .map(({ name: addition }) => ({
        path: path('pageAdditions', addition, 'href'),
        expected: "a function that returns the path to which the button of the password page posts: () => '/help'",
      })),
    ...pageAdditions
      .filter(({ text }) => !keys.includes(text))
      .map(({ name: addition }) => ({
        path: path('pageAdditions', addition, 'text'),
        expected: `a key of its texts, such as '${name}.${addition}'`,
      })),
  ];
}

/** Returns a problem for each addition that two extensions make. */
export const findAdditionConflicts = (extensions: readonly WithPages[]): readonly ConfigProblem[] =>
  sharedClaims(
    extensions.flatMap(({ name: owner, pageAdditions = [] }) => pageAdditions.map(({ name }) => ({ owner, name }))),
    ({ name }) => [`the addition ${name} to the pages`],
  );

/** Returns all texts of a language, by their keys. */
export const textsOf = (extensions: readonly WithPages[], locale: Locale): Readonly<Record<string, string>> =>
  Object.assign({}, ...extensions.map(({ texts }) => texts?.[locale] ?? {}));
