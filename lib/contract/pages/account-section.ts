/** Sections of the account page: links to pages on which users change data of their accounts. */
import { formatPath } from '../../config-problem.js';
import type { ConfigProblem } from '../../errors.js';
import { sharedClaims } from '../shared-claims.js';
import type { AdditionHost, ExtensionTexts } from './page-additions.js';

/** A section of the account page. */
export interface AccountSection {
  /** Name of the section, such as `factors`. The names of all sections differ. */
  readonly name: string;
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
