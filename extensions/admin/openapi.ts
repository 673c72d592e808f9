/** The OpenAPI document of the admin API, written from the mounted operations. @see OpenAPI 3.1 */
import type { ExtensionContext, MountedOperation } from '../../lib/extension-door.js';
import { IdpError, referenceToken, Type } from '../../lib/extension-door.js';
import { errors, unreadableEntry } from './errors.js';

type Json = Readonly<Record<string, unknown>>;

/** The body of a refusal. @see RFC 9457 */
const Problem = Type.Object(
  {
    type: Type.String({ description: '`urn:tenant-idp:error:`, followed by the code.' }),
    title: Type.String(),
    status: Type.Integer(),
    code: Type.String({ description: 'Error code for programs.' }),
    errors: Type.Optional(Type.Array(Type.Object({ pointer: Type.Optional(Type.String()), expected: Type.Optional(Type.String()) }))),
  },
  { $id: 'Problem' },
);

const ofService = (
  code: 'invalid_request' | 'invalid_token' | 'insufficient_scope' | 'unsupported_media_type' | 'invalid_record' | 'not_found',
) => {
  const { status, message: description } = new IdpError(code);
  return { [code]: { status, description } };
};
const ofApi = (...codes: readonly (keyof typeof errors.codes)[]) => Object.fromEntries(codes.map((code) => [code, errors.codes[code]]));

/** Errors that an operation has because of its method, path and form. */
const commonErrors = ({ method, path, reach, body }: MountedOperation): MountedOperation['errorEntries'] => ({
  ...ofService('invalid_request'),
  ...ofService('invalid_token'),
  ...ofService('insufficient_scope'),
  ...(reach === 'instance' ? ofApi('all_tenants_required') : {}),
  ...(path.includes('{') ? { ...ofService('not_found'), record_unreadable: unreadableEntry } : {}),
  ...(body ? { ...ofService('unsupported_media_type'), ...ofService('invalid_record'), ...ofApi('body_too_large') } : {}),
  ...(method === 'POST' ? ofApi('idempotency_conflict', 'idempotency_in_progress') : {}),
  ...(method === 'PATCH' || method === 'DELETE' ? ofApi('precondition_failed') : {}),
  ...ofApi('rate_limited'),
  temporarily_unavailable: { status: 503, description: 'The service could not answer. Try again shortly.' },
});

/** Returns the document. @param base the path of the API below the issuer */
export function openApiOf({ service: { url, operations, issuer, attributes } }: ExtensionContext, base: string): Json {
  const { schemas, referred } = createComponents(attributes);
  const all = operations();
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of all) {
    paths[operation.path] ??= {};
    Object.assign(paths[operation.path] as object, { [operation.method.toLowerCase()]: operationOf(operation, referred) });
  }
  const problem = referred(Problem, 'answer');
  const scopes = Object.fromEntries([...new Set(all.map(({ scope }) => scope))].sort().map((scope) => [scope, scopeText(scope)]));
  return {
    openapi: '3.1.0',
    info: {
      title: 'Administration',
      version: '1',
      description: `Administers the identity provider ${issuer}.`,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: url(base) }],
    security: [{ accessToken: [] }],
    paths,
    components: {
      schemas,
      responses: {
        Problem: { description: 'The service refused the request.', content: { 'application/problem+json': { schema: problem } } },
      },
      securitySchemes: {
        accessToken: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: url('/connect/token'), scopes } } },
      },
    },
  };
}

/** Place of a schema: what callers send, or what the API answers. */
type Place = 'body' | 'answer';
type Referred = (schema: unknown, place: Place) => unknown;

const pointerTo = (name: string): string => `#/components/schemas/${name}`;

/** Creates the named schemas of `components`. */
function createComponents(attributes: ExtensionContext['service']['attributes']) {
  const schemas: Record<string, unknown> = {};
  /** Returns the schema with references in place of named schemas, and adds these to `components`. */
  const referred: Referred = (schema, place) => {
    if (Array.isArray(schema)) return schema.map((each) => referred(each, place));
    if (typeof schema !== 'object' || schema === null) return schema;
    const { $id: name, ...members } = schema as Json;
    const inner = () => Object.fromEntries(Object.entries(members).map(([key, member]) => [key, referred(member, place)]));
    if (typeof name !== 'string') return inner();
    if (name === ATTRIBUTES || name === `${ATTRIBUTES}Patch`) {
      if (!attributes) return inner();
      schemas[ATTRIBUTES] ??= attributes.schemaAt(pointerTo(ATTRIBUTES));
      return name === ATTRIBUTES ? attributesIn(place, attributes) : patchOfAttributes(schemas[ATTRIBUTES] as Json);
    }
    schemas[name] ??= inner();
    return { $ref: pointerTo(name) };
  };
  return { schemas, referred };
}

/** Name of the schema of the option `attributes`. Without the option, attributes are any object, and the document does not name them. */
const ATTRIBUTES = 'PersonAttributes';

function attributesIn(place: Place, { allowsNone }: NonNullable<ExtensionContext['service']['attributes']>): Json {
  const schema = { $ref: pointerTo(ATTRIBUTES) };
  if (place === 'body') return schema;
  const description = 'Attributes that were stored before the schema may differ from it until they are written again.';
  // A person who registered has no attributes.
  return allowsNone ? { ...schema, description } : { anyOf: [schema, { type: 'object', maxProperties: 0 }], description };
}

/** Returns the schema of a merge patch. A value that is not an object replaces the attribute, or is null. */
function patchOfAttributes({ properties = {} }: Json): Json {
  const isReplaced = (property: unknown): boolean => {
    const type = typeof property === 'object' && property !== null ? Reflect.get(property, 'type') : undefined;
    return type !== undefined && ![type].flat().includes('object');
  };
  const replaced = Object.entries(properties as Json).flatMap(([name, property]) =>
    isReplaced(property)
      ? [[name, { anyOf: [{ $ref: `${pointerTo(ATTRIBUTES)}/properties/${encodeURIComponent(referenceToken(name))}` }, { type: 'null' }] }]]
      : [],
  );
  return {
    type: 'object',
    description: `A JSON Merge Patch. The attributes have to match \`${ATTRIBUTES}\` after the merge.`,
    properties: Object.fromEntries(replaced),
  };
}

const scopeText = (scope: string): string => {
  const [resource, access] = scope.replace(/^idp\./, '').split(':');
  return `${access === 'read' ? 'Reads' : 'Writes'} ${resource?.replaceAll('-', ' ').replace(/^(?:api|saml)\b/, (name) => name.toUpperCase())}`;
};

function operationOf(operation: MountedOperation, referred: Referred): Json {
  const { method, scope, summary, body, answer, status = answer ? 200 : 204 } = operation;
  return {
    operationId: operationIdOf(operation),
    summary,
    tags: [scope.replace(/^idp\.|:.*$/g, '')],
    security: [{ accessToken: [scope] }],
    parameters: parametersOf(operation, referred),
    ...(body && { requestBody: { required: true, content: { [mediaTypeOf(method)]: { schema: referred(body, 'body') } } } }),
    responses: {
      [status]: {
        description: summary,
        ...(answer && { content: { 'application/json': { schema: referred(answer, 'answer') } } }),
      },
      ...refusalsOf({ ...commonErrors(operation), ...operation.errorEntries }),
    },
  };
}

const mediaTypeOf = (method: MountedOperation['method']): string =>
  method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';

/** Returns the id of an operation, such as `getTenantsByTidUsersById`. */
const operationIdOf = ({ method, path }: Pick<MountedOperation, 'method' | 'path'>): string =>
  method.toLowerCase() +
  path
    .split('/')
    .slice(1)
    .map((part) => (part.startsWith('{') ? `By${capital(part.slice(1, -1))}` : part.split('-').map(capital).join('')))
    .join('');

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

function parametersOf({ method, path, query }: MountedOperation, referred: Referred): readonly Json[] {
  const header = (name: string, description: string) => ({ name, in: 'header', required: false, description, schema: { type: 'string' } });
  const required: readonly string[] = query?.required ?? [];
  return [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    ...Object.entries(query?.properties ?? {}).map(([name, schema]) => ({
      name,
      in: 'query',
      required: required.includes(name),
      schema: referred(schema, 'body'),
    })),
    ...(method === 'POST'
      ? [header('Idempotency-Key', 'The service performs the request once for each value of this header, within 24 hours.')]
      : []),
    ...(method === 'PATCH' || method === 'DELETE' ? [header('If-Match', 'The `ETag` of the record when the client read it.')] : []),
  ];
}

/** Returns the refusals by status, each with its codes. */
function refusalsOf(entries: MountedOperation['errorEntries']): Json {
  const statuses = [...new Set(Object.values(entries).map(({ status }) => status))].sort();
  return Object.fromEntries(
    statuses.map((status) => {
      const codes = Object.entries(entries).filter(([, entry]) => entry.status === status);
      return [
        status,
        {
          description: codes.map(([code, { description }]) => `\`${code}\`: ${description}`).join('\n\n'),
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
        },
      ];
    }),
  );
}
