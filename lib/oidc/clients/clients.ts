/**
 * Clients for oidc-provider, made of records of the directory.
 *
 * `clientOf` and `callerOf` return the record of oidc-provider's client. Other files of this folder hold:
 * - client authentication and assertions
 * - the key sets of clients
 * - pairwise identifiers
 * - PKCE
 */
import { randomBytes } from 'node:crypto';
import type { Adapter, AdapterPayload, Client as ProviderClient, ResponseType } from 'oidc-provider';
import type { Awaitable } from '../../awaitable.js';
import type { Caller } from '../../contract/clients/caller.js';
import { type Directory, responseTypesOf } from '../../directory/index.js';
import type { ApiResource, Client } from '../../store/records/records.js';
import type { OidcParts } from '../context.js';
import { recordOf } from '../upstream/client.js';

/** Record behind a client of oidc-provider. For oidc-provider, an API resource is a client without grants. */
export type { Caller };

/** Returns the record of oidc-provider's client: the record of a client or of an API resource. Undefined if there is no record. */
export const callerOf = (client: ProviderClient | undefined): Caller | undefined => client && (recordOf(client) as Caller | undefined);

/** Returns {@link callerOf} if the record is of a client. */
export function clientOf(client: ProviderClient | undefined): Client | undefined {
  const record = callerOf(client);
  return isClient(record) ? record : undefined;
}

export const isClient = (record: object | undefined): record is Client => record !== undefined && 'allowedScopes' in record;

/** Returns the live record of an id: the same object until the record changes. Returns a promise only if the record has to be read. */
export function findCaller({ clients, apiResources }: Directory, id: string): Caller | undefined | Promise<Caller | undefined> {
  const record = clients.peek(id) ?? apiResources.peek(id);
  return record ? active(record) : clients.get(id).then(async (client) => active(client ?? (await apiResources.get(id))));
}

const active = (record: Caller | undefined): Caller | undefined => (record?.status === 'active' ? record : undefined);

/** Returns the record of a client id, from any source. */
export type FindRecord = (id: string) => Awaitable<Caller | undefined>;

/** Records of the directory, and internal clients of extensions. */
export const createFindRecord =
  ({ directory, internalClients }: Pick<OidcParts, 'directory' | 'internalClients'>): FindRecord =>
  (id) =>
    internalClients.owns(id) ? internalClients.find(id) : findCaller(directory, id);

/** Returns oidc-provider's client of an id. Returns a promise only if the client has to be read. */
export type FindClient = (id: string) => Awaitable<ProviderClient | undefined>;

/** Adapter that returns clients as metadata. Secrets are never passed on, because secrets are compared with their hashes. */
export class ClientAdapter implements Adapter {
  readonly #find: FindRecord;
  readonly #metadataOf: MetadataOf;

  /** @param metadataOf @default {@link clientMetadata} */
  constructor(find: FindRecord, metadataOf: MetadataOf = clientMetadata) {
    this.#find = find;
    this.#metadataOf = metadataOf;
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const record = await this.#find(id);
    return record && (isClient(record) ? this.#metadataOf(record) : apiResourceMetadata(record));
  }

  async upsert(): Promise<void> {}
  async consume(): Promise<void> {}
  async destroy(): Promise<void> {}
  async revokeByGrantId(): Promise<void> {}
  async findByUid(): Promise<undefined> {}
  async findByUserCode(): Promise<undefined> {}
}

/** A secret that matches nothing, because oidc-provider requires a secret of confidential clients. */
export const noSecret = randomBytes(32).toString('base64url');

/** Returns the metadata of a client in the form of oidc-provider. */
export type MetadataOf = (client: Client) => AdapterPayload;

/** Returns a client's record in the form of oidc-provider. @param defaults of members that the record does not have */
export const clientMetadata = (client: Client, defaults: Readonly<Record<string, unknown>> = {}): AdapterPayload => ({
  response_types: responseTypesOf(client.metadata) as ResponseType[],
  grant_types: grantTypesOf(client.metadata),
  backchannel_logout_session_required: true,
  ...defaults,
  // oidc-provider adds members to the keys.
  ...structuredClone(client.metadata),
  client_id: client.id,
  client_name: client.name,
  ...(client.secrets.length > 0 ? { client_secret: noSecret } : {}),
});

/** Returns the grant types that the response types need, for clients without `grant_types`. @see RFC 7591 §2.1 */
function grantTypesOf(metadata: Client['metadata']): string[] {
  const parts = new Set(responseTypesOf(metadata).flatMap((type) => String(type).split(' ')));
  return [...(parts.has('code') ? ['authorization_code'] : []), ...(parts.has('token') || parts.has('id_token') ? ['implicit'] : [])];
}

const apiResourceMetadata = (resource: ApiResource): AdapterPayload => ({
  client_id: resource.id,
  client_name: resource.name,
  client_secret: noSecret,
  grant_types: [],
  response_types: [],
  redirect_uris: [],
});
