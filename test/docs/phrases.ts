/** Phrases that the sources write, read with the TypeScript parser. */
import { readdirSync, readFileSync } from 'node:fs';
import ts from 'typescript';

export interface Phrase {
  readonly file: string;
  readonly text: string;
}

/** Returns the texts that an expression can have. The name `'x'` replaces an inserted value. */
function textsOf(node: ts.Node): readonly string[] {
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isTemplateExpression(node)) return [node.head.text + node.templateSpans.map(({ literal }) => `'x'${literal.text}`).join('')];
  if (ts.isConditionalExpression(node)) return [...textsOf(node.whenTrue), ...textsOf(node.whenFalse)];
  return [];
}

/**
 * Returns the texts of expressions in the sources below some folders.
 * @param at returns the expressions of a node that are phrases, or `skip` to leave out the inner nodes.
 */
export function phrasesIn(
  folders: readonly string[],
  at: (node: ts.Node) => readonly (ts.Node | undefined)[] | 'skip',
  isRead: (text: string) => boolean = () => true,
): readonly Phrase[] {
  const files = folders
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`))
    .filter((file) => file.endsWith('.ts') && !file.startsWith('adapters/conformance/'));
  return files.flatMap((file) => {
    const source = readFileSync(file, 'utf8');
    if (!isRead(source)) return [];
    const found: Phrase[] = [];
    const visit = (node: ts.Node): void => {
      const phrases = at(node);
      if (phrases === 'skip') return;
      for (const phrase of phrases) for (const text of phrase ? textsOf(phrase) : []) found.push({ file, text });
      ts.forEachChild(node, visit);
    };
    visit(ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true));
    return found;
  });
}

/** Returns the expressions that a function returns. */
export function answersOf(node: ts.Node): readonly ts.Node[] {
  const found: ts.Node[] = [];
  const visit = (inner: ts.Node): void => {
    if (ts.isReturnStatement(inner) && inner.expression) found.push(inner.expression);
    if (ts.isArrowFunction(inner) && !ts.isBlock(inner.body)) found.push(inner.body);
    ts.forEachChild(inner, visit);
  };
  visit(node);
  return found;
}
