/** Pages of the documentation in their parts: sections, tables, code blocks, links. */
import { readdirSync, readFileSync } from 'node:fs';

export interface CodeBlock {
  /** Heading of the block. */
  readonly section: string;
  readonly language: string;
  readonly code: string;
}

export interface Page {
  readonly path: string;
  readonly text: string;
  /** Returns the text below a heading of any level, up to the next heading of the same or a higher level. */
  section(title: string): string;
  /** Returns the rows of the table with this first heading in a section, cell by cell, without the header and the marks of code. */
  table(title: string, firstHeading: string): string[][];
  readonly codeBlocks: readonly CodeBlock[];
  /** Targets of the links on the page: addresses, files, `#headings`. */
  readonly links: readonly string[];
  /** Names by which a link can refer to a heading. */
  readonly anchors: readonly string[];
  /** Returns the heading that an anchor of the page leads to, or undefined. */
  titleOf(anchor: string): string | undefined;
}

/** Returns `a` for `` `a` ``, if the cell contains only that. */
const plain = (cell: string): string => cell.trim().replace(/^`([^`]*)`$/, '$1');

/** Returns the anchor of a heading as GitHub writes it. */
const anchorOf = (heading: string): string =>
  `#${heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')}`;

/** Returns the text with code blocks blanked line by line, because code contains no headings and no links. */
const proseOf = (text: string): string => text.replace(/^```[\s\S]*?^```/gm, (block) => block.replace(/.+/g, ''));

interface Heading {
  readonly level: number;
  readonly title: string;
  readonly line: number;
}

function readPage(path: string): Page {
  const text = readFileSync(path, 'utf8');
  const lines = text.split('\n');
  const prose = proseOf(text);
  const headings: readonly Heading[] = prose.split('\n').flatMap((content, line) => {
    const [, marks, title] = content.match(/^(#+) (.+)$/) ?? [];
    return marks && title ? [{ level: marks.length, title, line }] : [];
  });

  const section = (title: string): string => {
    const found = headings.find((heading) => heading.title === title);
    if (!found) throw new Error(`${path} has no section '${title}'`);
    const next = headings.find(({ line, level }) => line > found.line && level <= found.level);
    return lines.slice(found.line + 1, next?.line).join('\n');
  };

  const table = (title: string, firstHeading: string): string[][] => {
    const [, rows] = section(title).split(new RegExp(`^\\| ${firstHeading} \\|.*\\n\\|[-|]+\\n`, 'm'));
    if (rows === undefined) throw new Error(`${path} has no table '${firstHeading}' in section '${title}'`);
    const [body = ''] = rows.split(/^(?!\|)/m);
    return body
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.slice(1, -1).split('|').map(plain));
  };

  const sectionAt = (offset: number): string => {
    const line = text.slice(0, offset).split('\n').length - 1;
    return headings.findLast((heading) => heading.line < line)?.title ?? '';
  };

  const codeBlocks = [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)].map(
    ({ index, 1: language = '', 2: code = '' }): CodeBlock => ({ section: sectionAt(index), language, code }),
  );

  const links = [...prose.matchAll(/\]\(([^)\s]+)\)|\b(?:src|srcset|href)="([^"]+)"/g)].map(
    ([, link, attribute]) => link ?? attribute ?? '',
  );
  const anchors = headings.map(({ title }) => anchorOf(title));
  const titleOf = (anchor: string) => headings.find(({ title }) => anchorOf(title) === anchor)?.title;
  return { path, text, section, table, codeBlocks, links, anchors, titleOf };
}

/** Pages for readers: those in the root, and all of docs/. */
export const pages: readonly Page[] = [
  ...readdirSync('.'),
  ...readdirSync('docs', { encoding: 'utf8', recursive: true }).map((name) => `docs/${name}`),
]
  .filter((path) => path.endsWith('.md'))
  .sort()
  .map(readPage);

export function pageAt(path: string): Page {
  const found = pages.find((page) => page.path === path);
  if (!found) throw new Error(`there is no ${path}`);
  return found;
}
