/** The options as `lib/options/options.ts` declares and documents them. */
import { readFileSync } from 'node:fs';
import ts from 'typescript';
import type { Check } from '../../lib/options/checks.js';
import { isGroup, type OptionTable } from '../../lib/options/declare.js';
import { checkOptions, optionTable } from '../../lib/options/options.js';

export interface DeclaredOption {
  readonly path: string;
  readonly check: Check;
  readonly description: string;
  /** Text of the tag `@default`. */
  readonly default: string | undefined;
  /** Form of the value, as a ConfigError names it. */
  readonly expected: string;
  /** Whether the option only holds other options. */
  readonly isGroup: boolean;
}

const source = ts.createSourceFile('options.ts', readFileSync('lib/options/options.ts', 'utf8'), ts.ScriptTarget.Latest, true);
const literals = new Map(
  source.statements
    .filter(ts.isVariableStatement)
    .flatMap(({ declarationList }) => declarationList.declarations)
    .flatMap(({ name, initializer }) =>
      initializer && ts.isObjectLiteralExpression(initializer) ? [[name.getText(source), initializer] as const] : [],
    ),
);

const setAt = ([name = '', ...rest]: readonly string[], value: unknown): object => ({
  [name]: rest.length === 0 ? value : setAt(rest, value),
});

/** Returns the options of a table, and of the tables in it. A table has the name of the option that holds it. */
const optionsOf = (name: string, table: OptionTable, prefix = ''): readonly DeclaredOption[] =>
  Object.entries(table).flatMap(([member, check]) => {
    const path = prefix + member;
    const property = literals.get(name)?.properties.find((each) => each.name?.getText(source) === member);
    if (!property) throw new Error(`lib/options/options.ts has no ${member} in the table ${name}`);
    const tag = ts.getJSDocTags(property).find(({ tagName }) => tagName.text === 'default');
    const [doc] = ts.getJSDocCommentsAndTags(property);
    const problem = checkOptions(setAt(path.split('.'), null), []).find((each) => each.path === path);
    return [
      {
        path,
        check,
        description: ts.getTextOfJSDocComment(doc?.comment) ?? '',
        default: ts.getTextOfJSDocComment(tag?.comment),
        expected: problem?.expected ?? '',
        isGroup: isGroup(check),
      },
      ...(isGroup(check) ? optionsOf(member, check.options, `${path}.`) : []),
    ];
  });

export const declaredOptions: readonly DeclaredOption[] = optionsOf('optionTable', optionTable);
