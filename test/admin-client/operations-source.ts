/** The types of the admin client, written from the OpenAPI document of the service. */
import { spawnSync } from 'node:child_process';

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

/** The file `lib/admin-client/operations.ts`, formatted. */
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

/** The descriptions of refusals name their codes. */
const codesOf = ({ responses }: Operation): string[] =>
  Object.entries(responses)
    .filter(([status]) => !status.startsWith('2'))
    .flatMap(([, { description = '' }]) => [...description.matchAll(/^`(\w+)`: /gm)].map(([, code = '']) => code));

const literal = (value: unknown): string =>
  typeof value === 'string' ? `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'` : JSON.stringify(value);
const nameOf = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? name : literal(name));

function typeOf(schema: Schema): string {
  const {
    $ref,
    const: constant,
    enum: values,
    anyOf,
    oneOf,
    allOf,
    type,
  } = schema as {
    $ref?: string;
    const?: unknown;
    enum?: readonly unknown[];
    anyOf?: readonly Schema[];
    oneOf?: readonly Schema[];
    allOf?: readonly Schema[];
    type?: string | readonly string[];
  };
  if ($ref !== undefined) return $ref.slice($ref.lastIndexOf('/') + 1);
  if ('const' in schema) return literal(constant);
  if (values) return values.map(literal).join(' | ');
  const several = anyOf ?? oneOf;
  if (several) return `(${[...new Set(several.map(typeOf))].join(' | ')})`;
  if (allOf) return allOf.map(typeOf).join(' & ');
  if (Array.isArray(type)) return `(${type.map((each) => typeOf({ ...schema, type: each })).join(' | ')})`;
  if (type === 'object') return objectType(schema);
  if (type === 'array') return `readonly ${wrapped(typeOf((schema.items as Schema | undefined) ?? {}))}[]`;
  if (type === 'integer' || type === 'number') return 'number';
  if (type === 'string' || type === 'boolean' || type === 'null') return type;
  return 'unknown';
}

const wrapped = (type: string): string => (/[|&{]/.test(type) && !type.startsWith('(') && !type.startsWith('{') ? `(${type})` : type);

function objectType({ properties, required = [], patternProperties, additionalProperties, minProperties: _ }: Schema): string {
  const members = Object.entries((properties ?? {}) as Readonly<Record<string, Schema>>).map(([name, schema]) => {
    const text = typeof schema.description === 'string' ? `/** ${schema.description.replaceAll('*/', '')} */\n` : '';
    return `${text}readonly ${nameOf(name)}${(required as readonly string[]).includes(name) ? '' : '?'}: ${typeOf(schema)};`;
  });
  const others = Object.values((patternProperties ?? {}) as Readonly<Record<string, Schema>>)[0] ?? additionalProperties;
  const isLong = members.some((member) => member.startsWith('/**'));
  if (members.length > 0) return isLong ? `{\n${members.join('\n')}\n}` : `{ ${members.join('\n')} }`;
  if (others === false) return 'Readonly<Record<string, never>>';
  return `Readonly<Record<string, ${typeof others === 'object' && others !== null ? typeOf(others as Schema) : 'unknown'}>>`;
}

function formatted(source: string): string {
  const { status, stdout, stderr } = spawnSync('node_modules/.bin/biome', ['format', '--stdin-file-path=operations.ts'], {
    input: source,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`biome: ${stderr}`);
  return stdout;
}
