/** Examples in the comments of the exported API. */
import { readdirSync, readFileSync } from 'node:fs';
import ts from 'typescript';

export interface Example {
  readonly path: string;
  /** Name of the declaration that has the example. */
  readonly of: string;
  readonly code: string;
}

/** Returns the code of an example. TypeScript has removed the `* ` in front of each line of the comment. */
const codeIn = (text: string): string => /```ts\n([\s\S]*?)```/.exec(text)?.[1] ?? '';

function examplesIn(path: string): readonly Example[] {
  const text = readFileSync(path, 'utf8');
  if (!text.includes('@example')) return [];
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: Example[] = [];
  const visit = (node: ts.Node): void => {
    const declared = ts.isVariableStatement(node) ? node.declarationList.declarations[0] : node;
    const name = (declared as ts.NamedDeclaration | undefined)?.name;
    // Inner nodes of a declaration have the tags of the declaration too.
    const tags = ts.isStatement(node) || ts.isTypeElement(node) || ts.isClassElement(node) ? ts.getJSDocTags(node) : [];
    for (const { tagName, comment } of tags)
      if (tagName.text === 'example')
        found.push({ path, of: name?.getText(source) ?? '', code: codeIn(ts.getTextOfJSDocComment(comment) ?? '') });
    ts.forEachChild(node, visit);
  };
  for (const statement of source.statements) visit(statement);
  return found;
}

export const examples: readonly Example[] = ['lib', 'adapters', 'extensions']
  .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`))
  .filter((path) => path.endsWith('.ts'))
  .toSorted()
  .flatMap(examplesIn);
