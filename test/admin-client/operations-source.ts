/**
 * Types of the admin client, written from the OpenAPI document of the service. `openapi-typescript` makes the type of each schema. This
 * file names the types and groups them by operation, so that an editor shows `Person` and not the members of a person.
 */
import { spawnSync } from 'node:child_process';
import { astToString, type GlobalContext, type SchemaObject, transformSchemaObject } from 'openapi-typescript';

type Schema = Readonly<Record<string, unknown>>;

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: Schema;
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
  readonly description?: string;
}

interface Operation {
  readonly summary: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Returns the formatted text of `lib/admin-client/operations.ts`. */
export function operationsSource({ paths, components }: OpenApi): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ route: `${method.toUpperCase()} ${path}`, operation })),
  );
  const codes = [...new Set(operations.flatMap(({ operation }) => codesOf(operation)))].sort();
  return formatted(`/** The operations of the admin API. Written by \`npm run admin-client\`, from the schemas of the service: change those. */

${Object.entries(components.schemas)
  .filter(([name]) => name !== 'Problem')
  .sort(([a], [b]) => (a < b ? -1 : 1))
  .map(
    ([name, schema]) =>
      `export ${isPlainObject(schema) ? `interface ${name}` : `type ${name} =`} ${typeOf(schema)}${isPlainObject(schema) ? '' : ';'}`,
  )
  .join('\n\n')}

/** By method and path. */
export interface Operations {
${operations.map(operationMember).join('\n')}
}

/** Codes of refusals. */
export type AdminErrorCode = ${codes.map(literal).join(' | ')};
`);
}

const isPlainObject = (schema: Schema): boolean => schema.type === 'object' && schema.properties !== undefined;

function operationMember({ route, operation }: { route: string; operation: Operation }): string {
  const { summary, security, parameters, requestBody, responses } = operation;
  const inPath = parameters.filter((each) => each.in === 'path');
  const inQuery = parameters.filter((each) => each.in === 'query');
  const answered = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1];
  const answer = schemaOf(answered);
  const body = schemaOf(requestBody);
  const members = [
    ...(inPath.length > 0 ? [`readonly params: ${parametersType(inPath)};`] : []),
    ...(inQuery.length > 0 ? [`readonly query${inQuery.some(({ required }) => required) ? '' : '?'}: ${parametersType(inQuery)};`] : []),
    ...(body ? [`readonly body: ${typeOf(body)};`] : []),
    `readonly answer: ${answer ? typeOf(answer) : 'undefined'};`,
  ];
  const scopes = security.flatMap((each) => Object.values(each).flat());
  return `/** ${summary}. Scope \`${scopes.join(' ')}\`. */\n${literal(route)}: {\n${members.join('\n')}\n};`;
}

const schemaOf = (content: Content | undefined): Schema | undefined => Object.values(content?.content ?? {})[0]?.schema;

const parametersType = (parameters: readonly Parameter[]): string =>
  `{ ${parameters.map(({ name, required, schema }) => `readonly ${nameOf(name)}${required ? '' : '?'}: ${typeOf(schema)};`).join(' ')} }`;

/** Returns the codes of refusals, which the descriptions of the refusals name. */
const codesOf = ({ responses }: Operation): string[] =>
  Object.entries(responses)
    .filter(([status]) => !status.startsWith('2'))
    .flatMap(([, { description = '' }]) => [...description.matchAll(/^`(\w+)`: /gm)].map(([, code = '']) => code));

const literal = (value: unknown): string =>
  typeof value === 'string' ? `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'` : JSON.stringify(value);
const nameOf = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? name : literal(name));

/** Settings of `openapi-typescript` that a single schema needs. */
const ctx = { immutable: true, discriminators: { objects: {}, refsHandled: [] }, injectFooter: [] } as unknown as GlobalContext;

/** Returns the type of a schema, with schemas of the components by name. */
const typeOf = (schema: Schema): string =>
  astToString(transformSchemaObject(schema as SchemaObject, { path: '#', ctx }))
    .trim()
    .replace(/components\["schemas"\]\["(\w+)"\]/g, '$1')
    .replace(/[ \t]*\/\*\*([\s\S]*?)\*\/\n?/g, (_, comment: string) => plainComment(comment))
    // Puts small objects on one line.
    .replace(/\{\n[^{}/]*\}/g, (members) => members.replace(/\s+/g, ' '));

/** Returns a comment without the parts that the type has too. Editors show a description as text if it is no tag. */
function plainComment(comment: string): string {
  const lines = comment
    .split('\n')
    .map((line) => line.replace(/^\s*\*?\s*(?:@description )?/, '').trim())
    .filter((line) => line !== '' && !/^@(?:enum|constant)\b/.test(line))
    // Puts the description first, because editors cut a comment short.
    .sort((a, b) => Number(a.startsWith('Format: ')) - Number(b.startsWith('Format: ')));
  return lines.length === 0 ? '' : `/** ${lines.join('. ')} */\n`;
}

function formatted(source: string): string {
  const { status, stdout, stderr } = spawnSync('node_modules/.bin/biome', ['format', '--stdin-file-path=operations.ts'], {
    input: source,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`biome: ${stderr}`);
  return stdout;
}
