/** Words that a reader has to decode: doc comments that begin with a pronoun or a clause, and words with a plainer word in this field. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import ts from 'typescript';

/** A doc comment begins with its subject, or with a verb in the third person. */
const beginsBadly = /^(?:Who|Whose|Whom|What|Whoever|Whatever|Those|That|It|They|Such|Of)\b/;

/** Words with a plainer one: restart or retry, a user or a caller, so that … not, fixes, and the same. */
const unplain = /\b(?:anew|whoever|lest|mends|the very)\b/i;

/** The proof of account links, which stays word for word. */
const exempt: readonly string[] = ['lib/directory/accounts/linking.ts:1 '];

interface Comment {
  readonly line: number;
  readonly text: string;
  readonly isDoc: boolean;
}

/** Returns the comments of a source, without the code of their examples. */
function commentsIn(file: string, source: string): readonly Comment[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const found = new Map<number, Comment>();
  const visit = (node: ts.Node): void => {
    for (const { pos, end } of [
      ...(ts.getLeadingCommentRanges(source, node.pos) ?? []),
      ...(ts.getTrailingCommentRanges(source, node.end) ?? []),
    ]) {
      const written = source.slice(pos, end);
      const text = written
        .replace(/^\/\*\*?|\*\/$|^\/\//g, '')
        .replace(/^\s*\* ?/gm, '')
        .replace(/```[\s\S]*?```/g, '')
        .trim();
      found.set(pos, { line: tree.getLineAndCharacterOfPosition(pos).line + 1, text, isDoc: written.startsWith('/**') });
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return [...found.values()];
}

const filesIn = (folder: string, ending: RegExp): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap((name) => (ending.test(name) ? `${folder}/${name}` : []));

const comments = ['lib', 'extensions', 'adapters', 'examples', 'bench', 'test']
  .flatMap((folder) => filesIn(folder, /\.tsx?$/))
  .flatMap((file) => commentsIn(file, readFileSync(file, 'utf8')).map((comment) => ({ file, ...comment })));

const lines = ['README.md', 'CHANGELOG.md', 'SECURITY.md', ...filesIn('docs', /\.md$/)].flatMap((file) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .map((text, index) => ({ file, line: index + 1, text })),
);

const placesOf = (found: readonly { readonly file: string; readonly line: number; readonly text: string }[]): readonly string[] =>
  found
    .map(({ file, line, text }) => `${file}:${line} ${text.slice(0, 80)}`)
    .filter((place) => !exempt.some((each) => place.startsWith(each)));

test('a doc comment begins with its subject or a verb, and with no pronoun or clause', () => {
  expect(comments.length).toBeGreaterThan(5000);
  expect(placesOf(comments.filter(({ isDoc, text }) => isDoc && beginsBadly.test(text)))).toEqual([]);
});

test('comments and documents use the plain word', () => {
  expect(lines.length).toBeGreaterThan(5000);
  expect(placesOf([...comments, ...lines].filter(({ text }) => unplain.test(text)))).toEqual([]);
});

test('a comment is found wherever it stands, and its example is left out', () => {
  const source = [
    '/** It begins badly. */',
    'export const one = 1; // made anew',
    '/**',
    ' * Returns two.',
    ' * ```ts',
    ' * const lest = 2;',
    ' * ```',
    ' */',
    'export function two() {',
    '  return 2; /* whoever */',
    '}',
  ].join('\n');
  const found = commentsIn('planted.ts', source);
  expect(found.filter(({ isDoc, text }) => isDoc && beginsBadly.test(text)).map(({ line }) => line)).toEqual([1]);
  expect(found.filter(({ text }) => unplain.test(text)).map(({ line }) => line)).toEqual([2, 10]);
});
