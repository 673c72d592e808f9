/** A client of the admin API for tests. The client checks successful requests and all answers against the service's published document. */
import { expect } from '@jest/globals';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { IdentityProviderOptions } from 'tenant-idp';
import { basic, type Json, postForm } from '../client/agent.js';
import { jsonOf, send } from '../client/send.js';
import { redirectUri, testSeed } from '../service/seed.js';

export interface AdminAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Json;
}

export interface AdminCall {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface AdminClient {
  readonly base: string;
  (path: string, call?: AdminCall): Promise<AdminAnswer>;
  post(path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<AdminAnswer>;
  patch(path: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<AdminAnswer>;
  remove(path: string, body?: unknown): Promise<AdminAnswer>;
}

const resources = [
  ...['tenants', 'subsidiaries', 'persons', 'users', 'links', 'sessions', 'consents', 'groups'],
  ...['permissions', 'clients', 'api-resources', 'keys', 'invitations', 'webhooks', 'factors', 'connections', 'impersonations'],
];
export const adminScopes = [
  ...resources.flatMap((resource) => [`idp.${resource}:read`, `idp.${resource}:write`]),
  'idp.events:read',
  'idp.exports:read',
];

/** Returns a client for a seed. The client administers the tenants with these names or ids. */
export const adminClient = (id: string, adminTenants: readonly string[], allowedScopes: readonly string[] = adminScopes) => ({
  id,
  name: `Client ${id}`,
  secret: `${id}-secret`,
  metadata: { grant_types: ['client_credentials'] },
  allowedScopes: [...allowedScopes],
  adminTenants: [...adminTenants],
});

const [acme, ...others] = testSeed.tenants as readonly NonNullable<NonNullable<IdentityProviderOptions['seed']>['tenants']>[number][];
const administrators = { name: 'Administrators', permissions: ['idp.persons:read', 'idp.persons:write', 'idp.groups:write'] };

/**
 * The test seed with administrators: `root` of all tenants, and `acme` and `globex` of one tenant each. Carol of Acme may administer
 * persons, through `console`.
 */
export const adminSeed = {
  ...testSeed,
  permissions: [...testSeed.permissions, ...adminScopes.map((id) => ({ id, name: id }))],
  tenants: [
    {
      ...acme,
      name: 'Acme',
      groups: [...(acme?.groups ?? []), administrators],
      persons: (acme?.persons ?? []).map((person) =>
        person.givenName === 'Carol' && person.user ? { ...person, user: { ...person.user, groups: ['Administrators'] } } : person,
      ),
    },
    ...others,
  ],
  clients: [
    ...testSeed.clients,
    adminClient('root', ['*']),
    adminClient('acme', ['Acme']),
    adminClient('globex', ['Globex']),
    {
      id: 'console',
      name: 'Console',
      secret: 'console-secret',
      metadata: { redirect_uris: [redirectUri], grant_types: ['authorization_code', 'refresh_token'] },
      allowedScopes: ['openid', ...adminScopes],
    },
  ],
} satisfies IdentityProviderOptions['seed'];

export async function adminToken(
  issuer: string,
  client: string,
  scope: string = adminScopes.join(' '),
  secret = `${client}-secret`,
): Promise<string> {
  const { json } = await postForm(
    `${issuer}/connect/token`,
    { grant_type: 'client_credentials', scope },
    { authorization: basic(client, secret) },
  );
  expect(json.access_token).toEqual(expect.any(String));
  return json.access_token;
}

/** Returns the ids of the tenants, by name. */
export async function tenantIds(root: AdminClient): Promise<Readonly<Record<string, string>>> {
  const { json } = await root('/tenants?limit=200');
  return Object.fromEntries(json.items.map(({ name, id }: Json) => [name, id]));
}

/** The published document, with its operations and validators of its schemas. */
export interface Documented {
  readonly operations: readonly { readonly method: string; readonly path: string; readonly pattern: RegExp; readonly operation: Json }[];
  validator(schema: Json): ValidateFunction;
  readonly document: Json;
}

const documents = new Map<string, Promise<Documented>>();

export function documented(issuer: string): Promise<Documented> {
  const known = documents.get(issuer) ?? read(issuer);
  documents.set(issuer, known);
  return known;
}

async function read(issuer: string): Promise<Documented> {
  const text = await (await fetch(`${issuer}/idp/api/v1/openapi.json`)).text();
  const document = JSON.parse(text) as Json;
  const operations = Object.entries(document.paths as Record<string, Json>).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Json>).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`),
      operation,
    })),
  );
  return { document, operations, validator: validatorsOf(text.replaceAll(issuer, 'https://issuer.example')) };
}

/** Validators by the text of a document. Equal services share validators, because compiling a schema takes longer than a request. */
const validators = new Map<string, Documented['validator']>();

function validatorsOf(text: string): Documented['validator'] {
  const known = validators.get(text);
  if (known) return known;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  ajv.addSchema(JSON.parse(text), 'document');
  const compiled = new Map<string, ValidateFunction>();
  const validator = (schema: Json): ValidateFunction => {
    const schemaText = JSON.stringify(schema);
    const made = compiled.get(schemaText) ?? ajv.compile(JSON.parse(schemaText.replaceAll('"#/', '"document#/')));
    compiled.set(schemaText, made);
    return made;
  };
  validators.set(text, validator);
  return validator;
}

/** Fails if a request or an answer does not match the document. */
async function checkExchange(issuer: string, path: string, { method = 'GET', body }: AdminCall, answer: AdminAnswer): Promise<void> {
  const { operations, validator } = await documented(issuer);
  const [pathname = ''] = path.split('?');
  const found = operations.find((one) => one.method === method && one.pattern.test(pathname));
  if (!found) return;
  const said = found.operation.responses[answer.status];
  const undocumented = said === undefined ? `${method} ${path} ${answer.status} ${answer.text}` : undefined;
  expect(undocumented).toBeUndefined();
  const [type] = (answer.headers.get('content-type') ?? '').split(';');
  const content = said.content?.[type ?? ''];
  expect([path, method, answer.status, said.content === undefined || content !== undefined]).toEqual([path, method, answer.status, true]);
  if (content) expectValid(validator(content.schema), answer.json, `${method} ${path} answered`);
  const form = Object.values((found.operation.requestBody?.content ?? {}) as Record<string, Json>)[0]?.schema;
  if (form && answer.status < 300)
    expectValid(validator(form), typeof body === 'string' ? JSON.parse(body) : body, `${method} ${path} was sent`);
}

function expectValid(validator: ValidateFunction, value: unknown, what: string): void {
  const isValid = validator(value);
  expect({ what, errors: isValid ? [] : validator.errors, value: isValid ? '' : value }).toEqual({ what, errors: [], value: '' });
}

/** @param token access token. Undefined: the client sends no credentials. */
export function administer(issuer: string, token?: string): AdminClient {
  const base = `${issuer}/idp/api/v1`;
  const call = async (path: string, { method = 'GET', body, headers = {} }: AdminCall = {}): Promise<AdminAnswer> => {
    const sent = await send(base + path, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const answer = { ...sent, json: jsonOf(sent.text) };
    await checkExchange(issuer, path, { method, body }, answer);
    return answer;
  };
  return Object.assign(call, {
    base,
    post: (path: string, body?: unknown, headers = {}) => call(path, { method: 'POST', body, headers }),
    patch: (path: string, body: unknown, headers = {}) => call(path, { method: 'PATCH', body, headers }),
    remove: (path: string, body?: unknown) => call(path, { method: 'DELETE', body }),
  });
}
