/** The options as `lib/options/options.ts` declares and documents them. */
import { readFileSync } from 'node:fs';
import ts from 'typescript';

export interface Member {
  readonly path: string;
  readonly optional: boolean;
  readonly description: string;
  readonly default: string | undefined;
  /** Whether it only holds other options. */
  readonly isGroup: boolean;
}

const source = ts.createSourceFile('options.ts', readFileSync('lib/options/options.ts', 'utf8'), ts.ScriptTarget.Latest, true);
const interfaces = new Map(source.statements.filter(ts.isInterfaceDeclaration).map((found) => [found.name.text, found]));

/** The members of an interface of options, and of those it refers to. */
function membersOf(name: string, prefix = ''): Member[] {
  return (interfaces.get(name)?.members ?? ([] as readonly ts.TypeElement[])).flatMap((member) => {
    const path = `${prefix}${(member.name as ts.Identifier).text}`;
    const tag = ts.getJSDocTags(member).find((found) => found.tagName.text === 'default');
    const [doc] = ts.getJSDocCommentsAndTags(member);
    const type = ts.isPropertySignature(member) ? (member.type?.getText(source) ?? '') : '';
    const isGroup = type.endsWith('Options');
    return [
      {
        path,
        optional: member.questionToken !== undefined,
        description: ts.getTextOfJSDocComment(doc?.comment) ?? '',
        default: ts.getTextOfJSDocComment(tag?.comment),
        isGroup,
      },
      ...(isGroup ? membersOf(type, `${path}.`) : []),
    ];
  });
}

export const declaredOptions: readonly Member[] = membersOf('IdentityProviderOptions');
