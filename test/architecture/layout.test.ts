/** The layout in docs/architecture.md against the folders. What it lacks is printed, ready to be pasted once it has its words. */
import { readdirSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { pageAt } from '../docs/pages.js';

const made = ['dist', 'node_modules'];
/** How many levels of folders below a top folder are listed; one, where it is not said. */
const depths: Readonly<Record<string, number>> = { lib: 2, test: 0 };

const entriesOf = (folder: string) =>
  readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !name.startsWith('.') && !made.includes(name));
const foldersOf = (folder: string) => entriesOf(folder).flatMap((entry) => (entry.isDirectory() ? entry.name : []));

/** Folders by name, each before what is in it; then the files of lib itself. */
function listed(folder: string, levels: number): string[] {
  const below = levels === 0 ? [] : foldersOf(folder).toSorted();
  const files = folder === 'lib' ? entriesOf(folder).flatMap((entry) => (entry.isFile() ? `lib/${entry.name}` : [])) : [];
  return [`${folder}/`, ...below.flatMap((name) => listed(`${folder}/${name}`, levels - 1)), ...files.toSorted()];
}

/** Each line is two spaces for each level, a name, and what it is. */
function drawn(): string[] {
  const block = pageAt('docs/architecture.md').codeBlocks.find(({ section }) => section === 'Layout');
  const path: string[] = [];
  return (block?.code.trimEnd().split('\n') ?? []).map((line) => {
    const [, indent = '', name = '', words = ''] = line.match(/^((?: {2})*)(\S+) {2,}(\S.*)$/) ?? [];
    if (words === '') throw new Error(`no path with its words: ${line}`);
    path.splice(indent.length / 2, path.length, name);
    return path.join('');
  });
}

test('issue 12 D: docs/architecture.md lays out every room of the house, and no other, in order', () => {
  const is = foldersOf('.')
    .toSorted()
    .flatMap((folder) => listed(folder, depths[folder] ?? 1));
  const says = drawn();
  const lacking = is.filter((path) => !says.includes(path));
  expect({ lacking, gone: says.filter((path) => !is.includes(path)) }).toEqual({ lacking: [], gone: [] });
  expect(says).toEqual(is);
});
