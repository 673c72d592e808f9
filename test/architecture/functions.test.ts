/** Functions that a reader can keep in mind: an inner function counts with the one around it. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import ts from 'typescript';

const MOST_LINES = 80;

/** Longer functions, each with its kind. */
const exempt: Readonly<Record<string, 'schema' | 'seed' | 'table' | 'text' | 'untouched'>> = {
  'examples/local/seed.ts createSeed': 'seed',
  // One readable description of the five operations that every resource has: read together, they show what a resource is given.
  'extensions/admin/resources/shape/crud.ts crud': 'untouched',
  'extensions/check-session/frame-script.ts frameScript': 'text',
};

interface LongFunction {
  readonly name: string;
  readonly lines: number;
}

const nameOf = (node: ts.Node): string => {
  const { name } = node as { readonly name?: ts.Node };
  const named = name ?? (ts.isVariableDeclaration(node.parent) || ts.isPropertyAssignment(node.parent) ? node.parent.name : undefined);
  return named?.getText() ?? '(without a name)';
};

/** Returns the functions of a source that are longer than the bound. */
function longFunctions(file: string, text: string): LongFunction[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const lineAt = (position: number) => source.getLineAndCharacterOfPosition(position).line;
  const visit = (node: ts.Node): LongFunction[] => {
    const inner: LongFunction[] = [];
    ts.forEachChild(node, (child) => void inner.push(...visit(child)));
    if (!ts.isFunctionLike(node) || !('body' in node) || !node.body) return inner;
    const lines = lineAt(node.end) - lineAt(node.getStart()) + 1;
    return lines > MOST_LINES ? [{ name: `${file} ${nameOf(node)}`, lines }, ...inner] : inner;
  };
  return visit(source);
}

const sources = ['lib', 'adapters', 'extensions', 'examples'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap((name) => (/\.tsx?$/.test(name) ? `${folder}/${name}` : [])),
);

test(`a function has at most ${MOST_LINES} lines, but for tables, schemas and texts`, () => {
  const long = sources.flatMap((file) => longFunctions(file, readFileSync(file, 'utf8')));
  expect(sources.length).toBeGreaterThan(500);
  expect(long.filter(({ name }) => !(name in exempt))).toEqual([]);
  expect(Object.keys(exempt).filter((name) => !long.some((each) => each.name === name))).toEqual([]);
});

test('the bound counts inner functions with the one around them, methods and arrows too', () => {
  const filler = Array.from({ length: 80 }, (_, line) => `    step(${line});`).join('\n');
  const names = (text: string) => longFunctions('lib/planted.ts', text).map(({ name }) => name.split(' ').at(-1));
  expect(names(`function outer() {\n  const inner = () => {\n${filler}\n  };\n  return inner;\n}`)).toEqual(['outer', 'inner']);
  expect(names(`class Planted {\n  method() {\n${filler}\n  }\n}`)).toEqual(['method']);
  expect(names(`const table = { member: () => {\n${filler}\n} };`)).toEqual(['member']);
  expect(names(`function short() {\n${filler.split('\n').slice(2).join('\n')}\n}`)).toEqual([]);
});
