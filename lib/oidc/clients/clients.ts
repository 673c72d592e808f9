/**
 * Clients as oidc-provider has them, built from records of the directory.
 *
 * `clientOf` and `callerOf` lead back from oidc-provider's client to the record. Here are client authentication and assertions, the keys of
 * clients, pairwise ids and PKCE.
 */
import { randomBytes } from 'node:crypto';
import type { Adapter, AdapterPayload, Client as ProviderClient, ResponseType } from 'oidc-provider';
import type { Awaitable } from '../../awaitable.js';
import type { Caller } from '../../contract/clients/caller.js';
import { type Directory, responseTypesOf } from '../../directory/index.js';
import type { ApiResource, Client } from '../../store/records/records.js';
import type { OidcParts } from '../context.js';
import { recordOf } from '../upstream/client.js';

/** To oidc-provider an API resource is a client without grants. */
export type { Caller };

/** The record that oidc-provider's client was built from: a client's, or an API resource's; undefined without one. */
export const callerOf = (client: ProviderClient | undefined): Caller | undefined => client && (recordOf(client) as Caller | undefined);

/** {@link callerOf}, where it is a client's. */
export function clientOf(client: ProviderClient | undefined): Client | undefined {
  const record = callerOf(client);
  return isClient(record) ? record : undefined;
}

export const isClient = (record: object | undefined): record is Client => record !== undefined && 'allowedScopes' in record;

/** The live record of a client id, the same object until it changes; a promise only if it is not at hand. */
export function findCaller({ clients, apiResources }: Directory, id: string): Caller | undefined | Promise<Caller | undefined> {
  const record = clients.peek(id) ?? apiResources.peek(id);
  return record ? active(record) : clients.get(id).then(async (client) => active(client ?? (await apiResources.get(id))));
}

const active = (record: Caller | undefined): Caller | undefined => (record?.status === 'active' ? record : undefined);

/** The record of a client id, whoever keeps it. */
export type FindRecord = (id: string) => Awaitable<Caller | undefined>;

/** Records of the directory, and applications of extensions. */
export const createFindRecord =
  ({ directory, internalClients }: Pick<OidcParts, 'directory' | 'internalClients'>): FindRecord =>
  (id) =>
    internalClients.owns(id) ? internalClients.find(id) : findCaller(directory, id);

/** The client of an id, as oidc-provider knows it; a promise only if it is not at hand. */
export type FindClient = (id: string) => Awaitable<ProviderClient | undefined>;

/** Clients as metadata. Secrets never pass: they are compared against their hashes. */
export class ClientAdapter implements Adapter {
  readonly #find: FindRecord;
  readonly #metadataOf: MetadataOf;

  /** @param metadataOf default: {@link clientMetadata} */
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

/** oidc-provider demands a secret of confidential clients; this one matches nothing. */
export const noSecret = randomBytes(32).toString('base64url');

/** The metadata of a client, as oidc-provider takes it. */
export type MetadataOf = (client: Client) => AdapterPayload;

/** A client's record as oidc-provider takes it. @param defaults of members that the record does not have */
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

/** Those that the response types need, for clients that do not say. @see RFC 7591 §2.1 */
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
