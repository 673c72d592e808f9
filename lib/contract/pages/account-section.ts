/** What people find on the page of their account: the pages on which they change something of their own. */
import { formatPath } from '../../config-problem.js';
import type { ConfigProblem } from '../../errors.js';
import { sharedClaims } from '../shared-claims.js';
import type { AdditionHost, ExtensionTexts } from './page-additions.js';

/** A section of the account page. */
export interface AccountSection {
  /** What it is: `factors`. Each is there once. */
  readonly name: string;
  /** Keys of the extension's `texts`: the title of its page, and what people do there. */
  readonly title: string;
  readonly summary: string;
  /** The URL of its page; undefined where there is none. */
  readonly href: (host: AdditionHost) => string | undefined;
}

interface WithSections {
  readonly name: string;
  readonly texts?: ExtensionTexts;
  readonly accountSections?: readonly AccountSection[];
}

/** Sections whose words are not there. */
export const findSectionProblems = ({ name, texts, accountSections = [] }: WithSections): readonly ConfigProblem[] =>
  accountSections.flatMap((section) =>
    (['title', 'summary'] as const)
      .filter((member) => texts?.en[section[member]] === undefined)
      .map((member) => ({
        path: formatPath(['extensions', name, 'accountSections', section.name, member]),
        expected: `a key of its texts, such as '${name}.${member}'`,
      })),
  );

/** Sections that two extensions have. */
export const findSectionConflicts = (extensions: readonly WithSections[]): readonly ConfigProblem[] =>
  sharedClaims(
    extensions.flatMap(({ name: owner, accountSections = [] }) => accountSections.map(({ name }) => ({ owner, name }))),
    ({ name }) => [`the section ${name} of the account page`],
  );
