/** Sections of the account page: links to pages on which users change data of their accounts. */
import type { Awaitable } from '../../awaitable.js';
import { formatPath } from '../../config-problem.js';
import type { Directory } from '../../directory/index.js';
import type { ConfigProblem } from '../../errors.js';
import { sharedClaims } from '../shared-claims.js';
import type { BrowserSignIn } from '../sign-in/logout-participant.js';
import type { AdditionHost, ExtensionTexts } from './page-additions.js';

/**
 * Groups of the account page, in their order:
 * - `person`: names, language and other data of the person.
 * - `signIn`: ways to sign in, and what protects them.
 * - `activity`: sessions, applications and sign-ins.
 * - `data`: all data of the person together.
 * - `more`: everything else.
 */
export const accountGroups = ['person', 'signIn', 'activity', 'data', 'more'] as const;
/** One of {@link accountGroups}. */
export type AccountGroup = (typeof accountGroups)[number];

/** A section of the account page. */
export interface AccountSection {
  /** Name of the section, such as `factors`. The names of all sections differ. */
  readonly name: string;
  /** Group of the account page that lists the section. @default 'more' */
  readonly group?: AccountGroup;
  /** Returns whether the account page lists the section for this user. @default true */
  readonly isFor?: (here: BrowserSignIn, context: { readonly directory: Directory }) => Awaitable<boolean>;
  /** Keys of the extension's `texts`: the title of the page, and what users do there. */
  readonly title: string;
  readonly summary: string;
  /** Returns the URL of the page; undefined if there is no page. */
  readonly href: (host: AdditionHost) => string | undefined;
}

interface WithSections {
  readonly name: string;
  readonly texts?: ExtensionTexts;
  readonly accountSections?: readonly AccountSection[];
}

/** Returns a problem for each section whose texts are missing. */
export const findSectionProblems = ({ name, texts, accountSections = [] }: WithSections): readonly ConfigProblem[] =>
  accountSections.flatMap((section) =>
    (['title', 'summary'] as const)
      .filter((member) => texts?.en[section[member]] === undefined)
      .map((member) => ({
        path: formatPath(['extensions', name, 'accountSections', section.name, member]),
        expected: `a key of its texts, such as '${name}.${member}'`,
      })),
  );

/** Returns a problem for each section that two extensions have. */
export const findSectionConflicts = (extensions: readonly WithSections[]): readonly ConfigProblem[] =>
  sharedClaims(
    extensions.flatMap(({ name: owner, accountSections = [] }) => accountSections.map(({ name }) => ({ owner, name }))),
    ({ name }) => [`the section ${name} of the account page`],
  );
