import { type Static, Type } from '@sinclair/typebox';
import { IdpError } from '../../errors.js';
import type { Page } from '../../store/directory-store.js';
import type { ApiResource } from '../../store/records.js';
import { createCachedCollection } from '../cached-collection.js';
import type { DirectoryContext } from '../context.js';
import { checkOwnSecret, createSecrets, hashedSecret, newSecret } from '../credentials/secrets.js';
import {
  checkInput,
  defined,
  inputSchema,
  introspects,
  line,
  newRecord,
  type Patch,
  patched,
  patchSchema,
  secretText,
  strings,
  token,
} from '../input.js';
import { insertWithSharedId } from './shared-ids.js';

const status = Type.Union([Type.Literal('active'), Type.Literal('disabled')]);
const fields = {
  name: line(),
  scopes: Type.Array(token(), { uniqueItems: true }),
  introspects: introspects(),
  allowedTenants: Type.Optional(strings()),
  introspectionSignedResponseAlg: Type.Optional(Type.Union([Type.Literal('RS256'), Type.Literal('ES256')])),
  status,
};
const apiResourceFields = inputSchema(fields);
const apiResourcePatch = patchSchema(apiResourceFields);
export const apiResourceInput = inputSchema({
  ...fields,
  id: token(),
  introspects: Type.Optional(fields.introspects),
  status: Type.Optional(status),
  secret: Type.Optional(secretText()),
});
/** @interface */
export type ApiResourceFields = Static<typeof apiResourceFields>;
/** @interface */
export type ApiResourceInput = Static<typeof apiResourceInput>;

const apiResourceDefaults: Pick<ApiResourceFields, 'introspects' | 'status'> = { introspects: 'own', status: 'active' };

export interface ApiResources {
  /**
   * Without a `secret` of its own it gets one, shown this once.
   * @throws IdpError `invalid_record`; `conflict` when a client or an API resource has the id, or a scope has an owner.
   */
  create(input: ApiResourceInput): Promise<{ readonly apiResource: ApiResource; readonly secret?: string }>;
  get(id: string): Promise<ApiResource | undefined>;
  /** What {@link get} answers, if it is at hand. */
  peek(id: string): ApiResource | undefined;
  /** @throws IdpError `not_found`. */
  require(id: string): Promise<ApiResource>;
  find(page?: Page): Promise<readonly ApiResource[]>;
  /** @throws IdpError `not_found`, `invalid_record`; `conflict` when a scope has another owner. */
  update(id: string, patch: Patch<ApiResourceFields>): Promise<ApiResource>;
  /** @throws IdpError `not_found`. */
  remove(id: string): Promise<void>;
  /** The secret before stays live until the next rotation. @throws IdpError `not_found`, `invalid_record`. */
  rotateSecret(id: string, secret?: string): Promise<{ readonly apiResource: ApiResource; readonly secret: string }>;
  /** The API resource, if the secret is one of its live ones. */
  checkSecret(id: string, secret: string): Promise<ApiResource | undefined>;
}

/** All API scopes of active API resources, by name, with the API resource that owns each. */
export type ApiScopes = ReadonlyMap<string, ApiResource>;

export function createApiResources(context: DirectoryContext): ApiResources {
  const { collections, caches } = context;
  const rows = createCachedCollection('apiResources', collections.apiResources, caches);
  const secrets = createSecrets(rows, context);
  return {
    get: rows.get,
    peek: rows.peek,
    require: rows.require,
    find: (page) => collections.apiResources.find({}, page),

    async create(input) {
      checkInput(apiResourceInput, input);
      const { id, secret: own, ...given } = input;
      checkOwnSecret(own, context);
      const secret = own ?? newSecret();
      const record = newRecord(id, { ...apiResourceDefaults, ...defined(given), secrets: [hashedSecret(secret)] });
      const apiResource = await insertWithSharedId(rows, record, collections.clients).catch(async (error: unknown) =>
        refuse(error, (await collections.apiResources.get(id)) ? '/id' : '/scopes'),
      );
      return own === undefined ? { apiResource, secret } : { apiResource };
    },

    async update(id, patch) {
      checkInput(apiResourcePatch, patch);
      return rows.update(id, (row) => patched(row, patch)).catch((error: unknown) => refuse(error, '/scopes'));
    },

    remove: rows.remove,

    async rotateSecret(id, given) {
      const { record: apiResource, secret } = await secrets.rotate(id, given);
      return { apiResource, secret };
    },

    checkSecret: secrets.check,
  };
}

export function createApiScopes({ collections, caches }: DirectoryContext): () => ApiScopes | Promise<ApiScopes> {
  const all = caches.over(['apiResources'], async () => {
    const active = (await collections.apiResources.find({})).filter(({ status }) => status === 'active');
    return new Map(active.flatMap((resource) => resource.scopes.map((scope) => [scope, resource] as const)));
  });
  return () => all.peek('all') ?? all.get('all').then((scopes) => scopes ?? new Map());
}

/** The store does not say what a conflict was about. */
function refuse(error: unknown, path: string): never {
  const silent = IdpError.is(error, 'conflict') && error.details.path === undefined;
  throw silent ? new IdpError('conflict', { path }) : error;
}
