/** docs/architecture.md against the folders and the rules: the layout, the order of rooms, where each step of the pipeline is. */
import { existsSync, readdirSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { pageAt } from '../docs/pages.js';
import { floors } from './house.js';

const page = pageAt('docs/architecture.md');

const made = ['dist', 'node_modules'];
/** Numbers of levels of folders that are listed below a top folder; one by default. */
const depths: Readonly<Record<string, number>> = { lib: 2, test: 0 };

const entriesOf = (folder: string) =>
  readdirSync(folder, { withFileTypes: true }).filter(({ name }) => !name.startsWith('.') && !made.includes(name));
const foldersOf = (folder: string) => entriesOf(folder).flatMap((entry) => (entry.isDirectory() ? entry.name : []));

/** Returns folders by name, each before its contents; then the files of lib itself. */
function listed(folder: string, levels: number): string[] {
  const below = levels === 0 ? [] : foldersOf(folder).toSorted();
  const files = folder === 'lib' ? entriesOf(folder).flatMap((entry) => (entry.isFile() ? `lib/${entry.name}` : [])) : [];
  return [`${folder}/`, ...below.flatMap((name) => listed(`${folder}/${name}`, levels - 1)), ...files.toSorted()];
}

/** Returns the paths of the page. Each line has two spaces for each level, a name, and a description. */
function drawn(): string[] {
  const block = page.codeBlocks.find(({ section }) => section === 'Layout');
  const path: string[] = [];
  return (block?.code.trimEnd().split('\n') ?? []).map((line) => {
    const [, indent = '', name = '', words = ''] = line.match(/^((?: {2})*)(\S+) {2,}(\S.*)$/) ?? [];
    if (words === '') throw new Error(`no path with its words: ${line}`);
    path.splice(indent.length / 2, path.length, name);
    return path.join('');
  });
}

test('docs/architecture.md lays out every room of the house, and no other, in order', () => {
  const is = foldersOf('.')
    .toSorted()
    .flatMap((folder) => listed(folder, depths[folder] ?? 1));
  const says = drawn();
  const lacking = is.filter((path) => !says.includes(path));
  expect({ lacking, gone: says.filter((path) => !is.includes(path)) }).toEqual({ lacking: [], gone: [] });
  expect(says).toEqual(is);
});

test.each(Object.entries(floors))('the rooms of %s stand there in their order', (folder, all) => {
  const rows = page.table(`The rooms of ${folder.slice(0, -1)}`, 'Floor');
  expect(rows.map(([, rooms = '']) => rooms.split(', ').map((room) => room.replaceAll('`', '')))).toEqual(all);
});

test('each step of the pipeline is in a file that exists', () => {
  const files = page
    .table('The pipeline', 'When oidc-provider …')
    .flatMap(([, , cell = '']) => cell.split(', ').map((file) => file.replaceAll('`', '')));
  expect(files.length).toBeGreaterThan(15);
  expect(files.filter((file) => !existsSync(`lib/oidc/${file}.ts`))).toEqual([]);
});
