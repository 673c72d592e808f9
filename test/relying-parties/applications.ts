/** The applications of docs/connect-an-application.md: the rows of its table, and the programs in their sections. */
import { readFileSync } from 'node:fs';
import { pageAt } from '../docs/pages.js';

export const page = pageAt('docs/connect-an-application.md');

export interface Application {
  readonly name: string;
  /** Heading that the row links to; undefined if the row has no link. */
  readonly section: string | undefined;
  readonly isTried: boolean;
  /** Versions that signed in, by the name of the package. */
  readonly triedWith: ReadonlyMap<string, string>;
  /** The other cells of the row. */
  readonly pkce: string;
  readonly nonce: string;
  readonly email: string;
  readonly idTokenClaims: string;
  readonly signOut: readonly string[];
}

/** Cells that mean: no setting exists, or the application never sends the parameter. */
const ABSENT = ['–', 'no', ''];

/** Whether an application that is set up as its section says sends the parameter of the cell. */
export const isSent = (cell: string): boolean => !ABSENT.includes(cell);

/** Returns the settings in the cell, as written in the section's block. */
export const settingsIn = (cell: string): readonly string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, setting = '']) => setting);

const versionsIn = (cell: string): ReadonlyMap<string, string> =>
  new Map(
    cell.split(', ').flatMap((item) => {
      const [, name, version] = /^(\S.*) (\d\S*)$/.exec(item) ?? [];
      return name && version ? [[name, version] as const] : [];
    }),
  );

/** Returns the rows of the table, with the marks of code that `table` of the page would remove. */
function applicationsOf(): readonly Application[] {
  const lines = page.section('Applications').split('\n');
  const rows = lines.filter((line) => line.startsWith('| ')).slice(1);
  return rows.map((line) => {
    const cells = line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim());
    const [first = '', versions = '', pkce = '', nonce = '', email = '', idTokenClaims = '', signOut = ''] = cells;
    const [, name = first, anchor] = /^\[(.+)\]\((#.+)\)$/.exec(first) ?? [];
    const section = anchor && page.titleOf(anchor);
    return {
      name,
      section,
      isTried: versions !== 'not tried',
      triedWith: versionsIn(versions),
      pkce,
      nonce,
      email,
      idTokenClaims,
      signOut: signOut === '–' || signOut === '' ? [] : signOut.split(', '),
    };
  });
}

export const applications = applicationsOf();

/** @throws Error without a row of that name, or a section */
export function applicationNamed(name: string): Application & { readonly section: string } {
  const found = applications.find((application) => application.name === name);
  if (found?.section === undefined) throw new Error(`${page.path} has no row '${name}' that links to a section`);
  return { ...found, section: found.section };
}

/** Returns the blocks of code in a section, in their order. */
export const blocksOf = (section: string) => page.codeBlocks.filter((block) => block.section === section);

const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, object>;
const own = new Set([...Object.keys({ ...dependencies, ...devDependencies }), 'tenant-idp']);

/** Whether a block of TypeScript needs packages that the repository does not have. Tests install these if RELYING_PARTIES is `yes`. */
export const needsPackages = (code: string): boolean =>
  [...code.matchAll(/ from '((?:@[^/']+\/)?[^/'.:]+)(?:\/[^']*)?'/g)].some(([, name = '']) => !own.has(name));

/** Returns the members of the client's record that the row requires. */
export const clientSettings = ({ email, idTokenClaims }: Application) => ({
  ...(email === "`'first'`" ? { email: 'first' as const } : {}),
  ...(idTokenClaims === "`'scopes'`" ? { idTokenClaims: 'scopes' as const } : {}),
});
