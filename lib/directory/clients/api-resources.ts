import { type Static, Type } from '@sinclair/typebox';
import { locales } from '../../display/locales.js';
import { IdpError } from '../../errors.js';
import type { Page } from '../../store/directory-store.js';
import { isAdminScope } from '../../store/records/admin-scopes.js';
import { apiResourceMembers } from '../../store/records/clients.js';
import type { ApiResource } from '../../store/records/records.js';
import { referenceToken } from '../../text/json-pointer.js';
import { inputSchema, line, secretText, token } from '../../text/schemas.js';
import { createCachedCollection } from '../cached-collection.js';
import type { ClientRules, DirectoryContext } from '../context.js';
import { checkOwnSecret, createSecrets, hashedSecret, newSecret } from '../credentials/secrets.js';
import { type CheckCurrent, checkInput, defined, isRecord, newRecord, type Patch, patched, patchSchema, withDefaults } from '../input.js';
import { createStatusList, type Listed, type StatusQuery } from '../lists/list.js';
import { changed, pendingEvent, withEvents } from '../outbox/pending-events.js';
import type { RecordProblem } from './client-metadata.js';
import { checkSharedId } from './shared-ids.js';

const description = line(300);
const byLocale = Type.Object(Object.fromEntries(locales.map((locale) => [locale, Type.Optional(description)])), {
  additionalProperties: false,
  minProperties: 1,
});
const members = {
  ...apiResourceMembers,
  // Accepts only languages of the pages. A stored description may have others.
  scopeDescriptions: Type.Optional(
    Type.Record(Type.String(), Type.Union([description, Type.Unsafe<Readonly<Record<string, string>>>(byLocale)])),
  ),
};
export const apiResourceDefaults = { introspects: 'own', status: 'active' } as const;
const apiResourceFields = inputSchema(members);
const apiResourcePatch = patchSchema(apiResourceFields);
export const apiResourceInput = inputSchema({
  ...withDefaults(members, apiResourceDefaults),
  id: token(),
  secret: Type.Optional(secretText()),
});
/** @interface */
export type ApiResourceFields = Static<typeof apiResourceFields>;
/** @interface */
export type ApiResourceInput = Static<typeof apiResourceInput>;

export interface ApiResources {
  /**
   * Creates an API resource. Without a `secret` in the input, the API resource gets a new secret, which is returned only here.
   * @param makeSecret returns a secret that cannot be guessed
   * @throws IdpError `invalid_record`; `conflict` if a client or an API resource has the id, or a scope has an owner.
   */
  create(
    input: ApiResourceInput,
    makeSecret?: () => Promise<string>,
  ): Promise<{ readonly apiResource: ApiResource; readonly secret?: string }>;
  get(id: string): Promise<ApiResource | undefined>;
  /** Returns the result of {@link get} if it is in memory. */
  peek(id: string): ApiResource | undefined;
  /** @throws IdpError `not_found`. */
  require(id: string): Promise<ApiResource>;
  find(page?: Page): Promise<readonly ApiResource[]>;
  /** @throws IdpError `invalid_request`, `invalid_cursor`. */
  list(query?: StatusQuery): Promise<Listed<ApiResource>>;
  /** @throws IdpError `not_found`, `invalid_record`; `conflict` when another API resource has a scope. */
  update(id: string, patch: Patch<ApiResourceFields>, check?: CheckCurrent<ApiResource>): Promise<ApiResource>;
  /** @throws IdpError `not_found`. */
  remove(id: string): Promise<void>;
  /** Adds a secret. The previous secret stays valid until the next rotation. @throws IdpError `not_found`, `invalid_record`. */
  rotateSecret(
    id: string,
    secret?: string,
    check?: CheckCurrent<ApiResource>,
  ): Promise<{ readonly apiResource: ApiResource; readonly secret: string }>;
  /** Returns the API resource if the secret is one of its valid secrets. */
  checkSecret(id: string, secret: string): Promise<ApiResource | undefined>;
}

/** API scopes of active API resources, by name, each with the API resource that owns it. */
export type ApiScopes = ReadonlyMap<string, ApiResource>;

export function createApiResources(context: DirectoryContext): ApiResources {
  const { collections, now } = context;
  const rows = createCachedCollection('apiResources', collections.apiResources, context);
  const event = (type: 'ApiResourceCreated' | 'ApiResourceUpdated' | 'ApiResourceRemoved' | 'ApiResourceSecretAdded', id: string) =>
    pendingEvent(now, type, undefined, { AggregateId: id });
  const secrets = createSecrets(rows, context, (id) => event('ApiResourceSecretAdded', id));
  const own = (id: string): ApiResource | undefined => {
    const resource = context.ownApi?.();
    return resource?.id === id ? resource : undefined;
  };
  return {
    get: async (id) => own(id) ?? rows.get(id),
    peek: (id) => own(id) ?? rows.peek(id),
    require: async (id) => own(id) ?? rows.require(id),
    find: (page) => collections.apiResources.find({}, page),
    list: createStatusList<ApiResource>(context, 'apiResources', collections.apiResources),

    async create(input, makeSecret = async () => newSecret()) {
      checkInput(apiResourceInput, input);
      checkDescribed(input.scopeDescriptions, input.scopes);
      checkAlgorithm(input, context);
      const { id, secret: ownSecret, ...given } = input;
      checkOwnSecret(ownSecret, context);
      checkSharedId(id, context);
      const secret = ownSecret ?? (await makeSecret());
      const record = newRecord(now, id, { ...apiResourceDefaults, ...defined(given), secrets: [hashedSecret(secret)] });
      const raised = withEvents(record, event('ApiResourceCreated', id));
      const apiResource = await context.sharedIds
        .hold(id, 'apiResource', {
          write: () => rows.insert(raised),
          undo: () => rows.remove(id, event('ApiResourceRemoved', id), isRecord(record)),
        })
        .catch(async (error: unknown) => refuse(error, (await collections.apiResources.get(id)) ? '/id' : '/scopes'));
      return ownSecret === undefined ? { apiResource, secret } : { apiResource };
    },

    async update(id, patch, check) {
      checkInput(apiResourcePatch, patch);
      checkAlgorithm(patch, context);
      return rows
        .update(id, (row) => {
          check?.(row);
          const scopes = patch.scopes ?? row.scopes;
          checkDescribed(patch.scopeDescriptions, scopes);
          return changed(row, patched(now, row, { ...patch, ...describedOf(row, patch, scopes) }), event('ApiResourceUpdated', id));
        })
        .catch((error: unknown) => refuse(error, '/scopes'));
    },

    async remove(id) {
      await rows.remove(id, event('ApiResourceRemoved', id));
      await context.sharedIds.release(id, 'apiResource');
    },

    async rotateSecret(id, given, check) {
      const { record: apiResource, secret } = await secrets.rotate(id, given, check);
      return { apiResource, secret };
    },

    checkSecret: secrets.check,
  };
}

export function createApiScopes({ collections, caches, ownApi }: DirectoryContext): () => ApiScopes | Promise<ApiScopes> {
  const all = caches.over(['apiResources'], async () => {
    const active = (await collections.apiResources.find({})).filter(({ status }) => status === 'active');
    const ofOthers = active.flatMap((resource) => resource.scopes.map((scope) => [scope, resource] as const));
    const admin = ownApi?.();
    const own = admin?.scopes.map((scope) => [scope, admin] as const) ?? [];
    return new Map([...ofOthers.filter(([scope]) => !isAdminScope(scope)), ...own]);
  });
  return () => all.peek('all') ?? all.get('all').then((scopes) => scopes ?? new Map());
}

function checkDescribed(descriptions: ApiResourceFields['scopeDescriptions'] | null, scopes: readonly string[]): void {
  const other = Object.keys(descriptions ?? {}).find((scope) => !scopes.includes(scope));
  if (other !== undefined)
    throw new IdpError('invalid_record', { path: `/scopeDescriptions/${referenceToken(other)}`, expected: 'one of its scopes' });
}

/** Returns the problems of an API resource, or of its patch, under the options of the service. @see FAPI 2.0 Security Profile §5.4.1 */
export const findAlgorithmProblems = (
  { introspectionSignedResponseAlg: alg }: { readonly introspectionSignedResponseAlg?: string | null | undefined },
  { isFapiOfAll }: ClientRules,
): readonly RecordProblem[] =>
  isFapiOfAll && alg === 'RS256'
    ? [{ path: '/introspectionSignedResponseAlg', expected: 'ES256 or nothing, because the option fapi applies FAPI 2.0 to all clients' }]
    : [];

function checkAlgorithm(written: Parameters<typeof findAlgorithmProblems>[0], context: ClientRules): void {
  const [problem] = findAlgorithmProblems(written, context);
  if (problem) throw new IdpError('invalid_record', { ...problem });
}

/** Returns the descriptions without the descriptions of removed scopes. */
function describedOf(
  { scopeDescriptions: before = {} }: ApiResource,
  { scopeDescriptions: given }: Patch<ApiResourceFields>,
  scopes: readonly string[],
): Pick<ApiResource, 'scopeDescriptions'> {
  const left = Object.entries(before).filter(([scope]) => scopes.includes(scope));
  return given !== undefined || left.length === Object.keys(before).length ? {} : { scopeDescriptions: Object.fromEntries(left) };
}

/** Throws a conflict with the path of the value, because the store does not report which value conflicts. */
function refuse(error: unknown, path: string): never {
  const silent = IdpError.is(error, 'conflict') && error.details.path === undefined;
  throw silent ? new IdpError('conflict', { path }) : error;
}
