/** README.md taken apart: sections, tables, code blocks, links. */
import { readFileSync } from 'node:fs';

export interface CodeBlock {
  /** The heading it stands under. */
  readonly section: string;
  readonly code: string;
  /** What a comment `<!-- given … -->` right before the block says it builds on; nobody who reads the page sees it. */
  readonly given: string;
}

interface Section {
  readonly title: string;
  readonly text: string;
}

const text = readFileSync('README.md', 'utf8');

const sections: readonly Section[] = text.split(/^## /m).map((part) => {
  const [title = '', ...lines] = part.split('\n');
  return { title, text: lines.join('\n') };
});

export function section(title: string): string {
  const found = sections.find((one) => one.title === title);
  if (!found) throw new Error(`README.md has no section '${title}'`);
  return found.text;
}

/** The TypeScript blocks, in order. */
export const codeBlocks: readonly CodeBlock[] = sections.flatMap(({ title, text: body }) =>
  [...body.matchAll(/(?:<!-- given\n([\s\S]*?)-->\n)?```ts\n([\s\S]*?)```/g)].map(([, given = '', code = '']) => ({
    section: title,
    code,
    given,
  })),
);

/** The rows of the table in a section whose first heading is this one, cell by cell, without header and marks of code. */
export function table(title: string, firstHeading: string): string[][] {
  const [, rows = ''] = section(title).split(new RegExp(`^\\| ${firstHeading} \\|.*\\n\\|[-|]+\\n`, 'm'));
  const [body = ''] = rows.split(/^(?!\|)/m);
  return body
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.slice(1, -1).split('|').map(plain));
}

/** `` `a` `` → `a`, when that is all there is. */
const plain = (cell: string): string => cell.trim().replace(/^`([^`]*)`$/, '$1');

/** What the page points at: addresses, files, `#headings`. */
export const links: readonly string[] = [...text.matchAll(/\]\(([^)\s]+)\)|\b(?:src|srcset|href)="([^"]+)"/g)].map(
  ([, link, attribute]) => link ?? attribute ?? '',
);

/** The names under which headings can be linked to. */
export const anchors: readonly string[] = [...text.matchAll(/^#+ (.+)$/gm)].map(
  ([, heading = '']) =>
    `#${heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s-]/gu, '')
      .replaceAll(' ', '-')}`,
);
