/** Operations of the admin API on service providers of a tenant and of the instance. */
import {
  defineOperation,
  type ExtensionContext,
  type ExtensionRows,
  IdpError,
  type Operation,
  type OperationRequest,
  pageOf,
  pageOfRows,
  pageQuery,
  type Static,
} from '../../../lib/extension-door.js';
import type { Entities } from '../entities/entity.js';
import { errors, METADATA_URL, refuse } from '../service-providers/errors.js';
import { type ServiceProvider, type ServiceProviderFields, serviceProviderFields, serviceProviders } from '../service-providers/records.js';
import type { ServiceProviderRefresh } from './refresh.js';
import type { ReadMetadata, Registrar } from './registrar.js';
import { checkReferences } from './rules.js';
import { type Form, form, indexed, patch, ServiceProviderItem } from './schemas.js';
import { respelled } from './spellings.js';
import type { Place, ServiceProviderWrites } from './writes.js';

export interface Parts {
  readonly context: ExtensionContext;
  readonly entities: Entities;
  /** Whether tenants are entities. Without tenant entities, tenants have no service providers. */
  readonly tenantEntities: boolean;
  readonly registrar: Registrar;
  readonly writes: ServiceProviderWrites;
  readonly refresh: ServiceProviderRefresh;
}

type Request<Body = unknown> = OperationRequest<unknown, unknown, Body>;

const read = { scope: 'idp.saml-service-providers:read' } as const;
const write = { scope: 'idp.saml-service-providers:write' } as const;
const ofMetadata = ['metadata_unavailable', 'metadata_invalid'] as const;

export function serviceProviderOperations(parts: Parts): readonly Operation[] {
  const resource = new ServiceProviderResource(parts);
  const paths = [...(parts.tenantEntities ? ['/tenants/{tid}/saml-service-providers'] : []), '/saml-service-providers'];
  return paths.flatMap((path) => operationsAt(resource, path));
}

function operationsAt(resource: ServiceProviderResource, path: string): readonly Operation[] {
  const one = `${path}/{id}`;
  return [
    defineOperation({
      ...write,
      method: 'POST',
      path,
      summary: 'Registers a SAML service provider, from its metadata or by hand',
      body: form,
      respelled,
      answer: ServiceProviderItem,
      status: 201,
      errors: ['conflict', 'impersonation_operator_required', ...ofMetadata],
      handle: (request) => resource.create(request),
    }),
    defineOperation({
      ...read,
      method: 'GET',
      path,
      summary: 'Lists SAML service providers',
      query: pageQuery({}, ['createdAt']),
      answer: pageOf(ServiceProviderItem),
      handle: (request) => pageOfRows(request.query, resource.rowsOf(request).list, (row) => resource.view(row)),
    }),
    defineOperation({
      ...read,
      method: 'GET',
      path: one,
      summary: 'Reads a SAML service provider',
      answer: ServiceProviderItem,
      handle: async (request) => resource.view(await resource.find(request)),
    }),
    defineOperation({
      ...write,
      method: 'PATCH',
      path: one,
      summary: 'Changes a SAML service provider, except its entityID, because NameIDs of users depend on the entityID',
      body: patch,
      respelled,
      answer: ServiceProviderItem,
      errors: ['impersonation_operator_required', ...ofMetadata],
      handle: (request) => resource.change(request),
    }),
    defineOperation({
      ...write,
      method: 'POST',
      path: `${one}/refresh`,
      summary: 'Reads the metadata of a SAML service provider again, from its URL',
      answer: ServiceProviderItem,
      errors: ['metadata_url_missing', 'impersonation_operator_required', ...ofMetadata],
      handle: (request) => resource.refresh(request),
    }),
    defineOperation({
      ...write,
      method: 'DELETE',
      path: one,
      summary: 'Removes a SAML service provider, so that nobody can sign in to it',
      record: { collection: serviceProviders.name, param: 'id' },
      removeUnreadable: (request) => resource.removeUnreadable(request),
      handle: (request) => resource.remove(request),
    }),
  ];
}

/** Handles operations on the service providers of the owner in the path: a tenant, or the instance. */
class ServiceProviderResource {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  rowsOf(request: Request): ExtensionRows<ServiceProviderFields> {
    return this.#parts.context.records.collection(serviceProviders, this.#placeOf(request).owner);
  }

  /** Returns the service provider of the path. @throws IdpError `not_found` */
  async find(request: Request): Promise<ServiceProvider> {
    const row = await this.rowsOf(request).get(this.#placeOf(request).id);
    if (row === undefined) throw new IdpError('not_found');
    return row;
  }

  view(row: ServiceProvider): Static<typeof ServiceProviderItem> {
    const { id, source, failingSince, createdAt, updatedAt, tid } = row;
    const { warnings, ...read } = source ?? {};
    const { entityId, metadataUrl, ssoUrl, sloUrl } = this.#parts.entities.ofOwner(tid);
    const members = Object.keys(serviceProviderFields).flatMap((member) => {
      const value: unknown = Reflect.get(row, member);
      return value === undefined ? [] : [[member, value]];
    });
    return {
      id,
      ...Object.fromEntries(members),
      ...(source && { source: { ...read, ...(failingSince && { failingSince: failingSince.toISOString() }) } }),
      ...(warnings && { warnings }),
      identityProvider: { entityId, metadataUrl, singleSignOnUrl: ssoUrl, singleLogoutUrl: sloUrl },
      createdAt,
      updatedAt,
    } as Static<typeof ServiceProviderItem>;
  }

  async create(request: Request<Form>): Promise<Static<typeof ServiceProviderItem>> {
    const { context, registrar, writes } = this.#parts;
    const { metadata: _, metadataUrl: __, ...given } = indexed(request.body);
    checkOperator(request, given);
    const place = { ...this.#placeOf(request), id: request.newId() };
    const earlier = request.isRetry ? await this.rowsOf(request).get(place.id) : undefined;
    if (earlier) return this.view(earlier);
    const document = await this.#metadataOf(request.body, given.entityId, Object.keys(given));
    const registered = registrar.create(given, place.owner, document);
    await checkReferences(registered, place.owner, context);
    return this.view(await writes.create(place, registered, request.by));
  }

  async change(request: Request<Static<typeof patch>>): Promise<Static<typeof ServiceProviderItem>> {
    const { context, registrar, writes } = this.#parts;
    const before = await this.find(request);
    const { impersonation = before.impersonation } = request.body;
    checkOperator(request, { impersonation });
    request.checkMatch(this.view(before));
    const { metadata: _, metadataUrl, overridden, ...change } = indexed(request.body);
    const stays = [...(overridden ?? before.source?.overridden ?? []), ...Object.keys(change)];
    if (request.body.metadata !== undefined && before.source?.url !== undefined && metadataUrl !== null)
      refuse([{ path: '/metadata', expected: 'nothing, or null as metadataUrl, because the service reads the metadata from metadataUrl' }]);
    const document = await this.#metadataOf(request.body, before.entityId, stays);
    await checkReferences(change, before.tid, context);
    const next = (row: ServiceProvider) => {
      request.checkMatch(this.view(row));
      return registrar.change(row, change, row.tid, {
        ...(document && { metadata: document }),
        ...(metadataUrl === null && { url: metadataUrl }),
        ...(overridden && { overridden }),
      });
    };
    return this.view(await writes.update(this.#placeOf(request), next, request.by));
  }

  async refresh(request: Request): Promise<Static<typeof ServiceProviderItem>> {
    const before = await this.find(request);
    checkOperator(request, before);
    return this.view(await this.#parts.refresh.now(before, request.by));
  }

  async remove(request: Request): Promise<void> {
    request.checkMatch(this.view(await this.find(request)));
    await this.#parts.writes.remove(this.#placeOf(request), request.by);
  }

  /** Removes a row without reading it. @throws IdpError `not_found` */
  async removeUnreadable(request: Request): Promise<void> {
    await this.#parts.writes.remove(this.#placeOf(request), request.by);
  }

  #placeOf({ params }: Request): Place {
    const { tid = this.#parts.context.records.ofInstance, id = '' } = params as { readonly tid?: string; readonly id?: string };
    return { owner: tid, id };
  }

  /** Reads the metadata in the request, or at the URL in the request. */
  async #metadataOf(
    { metadata, metadataUrl }: { readonly metadata?: string; readonly metadataUrl?: string | null },
    entityId: string | undefined,
    overridden: readonly string[],
  ): Promise<ReadMetadata | undefined> {
    const { context, refresh } = this.#parts;
    if (metadata !== undefined && typeof metadataUrl === 'string')
      refuse([{ path: '/metadata', expected: 'nothing, because metadataUrl is set' }]);
    const serviceProvider = { entityId, overridden: new Set(overridden) };
    if (metadata !== undefined) return { description: refresh.read(metadata, '/metadata', serviceProvider) };
    if (typeof metadataUrl !== 'string') return undefined;
    const expected = context.http.fetchProblem(metadataUrl);
    if (expected !== undefined) refuse([{ path: METADATA_URL, expected }]);
    return { url: metadataUrl, description: await refresh.fetch(metadataUrl, METADATA_URL, serviceProvider) };
  }
}

/** Checks that an operator decides where impersonated users sign in. The check includes a change of the URL that gets their assertions. */
function checkOperator({ administrator }: Request, { impersonation }: Pick<Form, 'impersonation'>): void {
  if (impersonation === 'allow' && !administrator.ofAllTenants) throw errors('impersonation_operator_required');
}
