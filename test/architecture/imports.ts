/** Reads the imports of sources, with the TypeScript parser. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, normalize } from 'node:path/posix';
import ts from 'typescript';

/**
 * Each file with its imports: a path from the root (`lib/errors.ts`) or a package specifier (`node:crypto`),
 * with `type ` before it when only types are imported.
 */
export type Graph = Readonly<Record<string, readonly string[]>>;

export const parse = (file: string, text: string) => ts.createSourceFile(file, text, ts.ScriptTarget.Latest);

/** Returns a path from the root: `./clients/clients.js` in `lib/oidc/protocol.ts` → `lib/oidc/clients/clients.ts`. */
const resolve = (file: string, specifier: string) =>
  specifier.startsWith('.') ? normalize(join(file, '..', specifier)).replace(/\.js$/, '.ts') : specifier;

const everyElement = (bindings: ts.NamedImportBindings | ts.NamedExportBindings | undefined) =>
  bindings !== undefined &&
  'elements' in bindings &&
  bindings.elements.length > 0 &&
  bindings.elements.every(({ isTypeOnly }) => isTypeOnly);

/** Returns the import of a node, if the node is an import in any form of the language. */
function importOf(node: ts.Node): { specifier: ts.Node; typeOnly: boolean } | undefined {
  if (ts.isImportDeclaration(node)) {
    const clause = node.importClause;
    const typeOnly = clause?.phaseModifier === ts.SyntaxKind.TypeKeyword || (!clause?.name && everyElement(clause?.namedBindings));
    return { specifier: node.moduleSpecifier, typeOnly };
  }
  if (ts.isExportDeclaration(node) && node.moduleSpecifier) {
    return { specifier: node.moduleSpecifier, typeOnly: node.isTypeOnly || everyElement(node.exportClause as ts.NamedExportBindings) };
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return { specifier: node.argument.literal, typeOnly: true };
  if (ts.isModuleDeclaration(node) && ts.isStringLiteral(node.name)) return { specifier: node.name, typeOnly: true };
  if (ts.isExternalModuleReference(node)) return { specifier: node.expression, typeOnly: false };
  if (ts.isCallExpression(node) && node.arguments[0]) {
    const callee = node.expression;
    const imports = callee.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(callee) && callee.text === 'require');
    if (imports) return { specifier: node.arguments[0], typeOnly: false };
  }
  return undefined;
}

/** Returns the imports of a source. A computed `import(…)` shows as `?`. */
export function importsOf(file: string, text: string): string[] {
  const found = new Set<string>();
  const visit = (node: ts.Node): void => {
    const { specifier, typeOnly } = importOf(node) ?? {};
    if (specifier !== undefined) {
      const target = ts.isStringLiteralLike(specifier) ? resolve(file, specifier.text) : '?';
      found.add(typeOnly ? `type ${target}` : target);
    }
    ts.forEachChild(node, visit);
  };
  visit(parse(file, text));
  return [...found];
}

/** Returns the graph of all sources in some folders under the current one. */
export function readGraph(folders: readonly string[]): Graph {
  const sources = folders.flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)));
  return Object.fromEntries(
    sources.filter((file) => file.endsWith('.ts')).map((file) => [file, importsOf(file, readFileSync(file, 'utf8'))]),
  );
}
