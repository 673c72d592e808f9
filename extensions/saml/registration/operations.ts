/** Service providers as resources of the admin API: of a tenant, and of the instance. */
import {
  defineOperation,
  type ExtensionContext,
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
import { type ServiceProvider, serviceProviderFields, serviceProviders } from '../service-providers/records.js';
import type { ServiceProviderRefresh } from './refresh.js';
import type { ReadMetadata, Registrar } from './registrar.js';
import { checkReferences } from './rules.js';
import { type Form, form, indexed, patch, ServiceProviderItem } from './schemas.js';
import { respelled } from './spellings.js';
import type { Place, ServiceProviderWrites } from './writes.js';

export interface Parts {
  readonly context: ExtensionContext;
  readonly entities: Entities;
  /** Whether tenants are entities, which service providers of theirs are known at. */
  readonly tenantEntities: boolean;
  readonly registrar: Registrar;
  readonly writes: ServiceProviderWrites;
  readonly refresh: ServiceProviderRefresh;
}

type Request = OperationRequest<unknown, unknown, unknown>;

const read = { scope: 'idp.saml-service-providers:read' } as const;
const write = { scope: 'idp.saml-service-providers:write' } as const;
const ofMetadata = ['metadata_unavailable', 'metadata_invalid'] as const;

export const serviceProviderOperations = (parts: Parts): readonly Operation[] =>
  [...(parts.tenantEntities ? ['/tenants/{tid}/saml-service-providers'] : []), '/saml-service-providers'].flatMap((path) =>
    operationsAt(parts, path),
  );

function operationsAt({ context, entities, registrar, writes, refresh }: Parts, path: string): readonly Operation[] {
  const { collection, ofInstance } = context.records;
  const one = `${path}/{id}`;

  const placeOf = ({ params }: Request): Place => {
    const { tid = ofInstance, id = '' } = params as { readonly tid?: string; readonly id?: string };
    return { owner: tid, id };
  };
  async function found(request: Request): Promise<ServiceProvider> {
    const { owner, id } = placeOf(request);
    const row = await collection(serviceProviders, owner).get(id);
    if (row === undefined) throw new IdpError('not_found');
    return row;
  }

  function view(row: ServiceProvider): Static<typeof ServiceProviderItem> {
    const { id, source, failingSince, createdAt, updatedAt, tid } = row;
    const { warnings, ...read } = source ?? {};
    const { entityId, metadataUrl, ssoUrl, sloUrl } = entities.of(tid);
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

  /** A sign-in of somebody else’s is the operator’s to hand on, and so is where it goes. */
  function checkOperator({ administrator }: Request, { impersonation }: Pick<Form, 'impersonation'>): void {
    if (impersonation === 'allow' && !administrator.ofAllTenants) throw errors('impersonation_operator_required');
  }

  /** Metadata that the request brings, or says where it is. */
  async function metadataOf(
    { metadata, metadataUrl }: { readonly metadata?: string; readonly metadataUrl?: string | null },
    entityId: string | undefined,
    overridden: readonly string[],
  ): Promise<ReadMetadata | undefined> {
    if (metadata !== undefined && typeof metadataUrl === 'string')
      refuse([{ path: '/metadata', expected: 'nothing, because there is metadataUrl' }]);
    const known = { entityId, overridden: new Set(overridden) };
    if (metadata !== undefined) return { description: refresh.read(metadata, '/metadata', known) };
    if (typeof metadataUrl !== 'string') return undefined;
    const expected = context.http.fetchProblem(metadataUrl);
    if (expected !== undefined) refuse([{ path: METADATA_URL, expected }]);
    return { url: metadataUrl, description: await refresh.fetch(metadataUrl, METADATA_URL, known) };
  }

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
      async handle(request) {
        const { metadata: _, metadataUrl: __, ...given } = indexed(request.body);
        checkOperator(request, given);
        const place = { ...placeOf(request), id: request.newId() };
        const known = request.isRetry ? await collection(serviceProviders, place.owner).get(place.id) : undefined;
        if (known) return view(known);
        const document = await metadataOf(request.body, given.entityId, Object.keys(given));
        const registered = registrar.create(given, place.owner, document);
        await checkReferences(registered, place.owner, context);
        return view(await writes.create(place, registered, request.by));
      },
    }),
    defineOperation({
      ...read,
      method: 'GET',
      path,
      summary: 'Lists SAML service providers',
      query: pageQuery({}, ['createdAt']),
      answer: pageOf(ServiceProviderItem),
      handle: (request) => pageOfRows(request.query, collection(serviceProviders, placeOf(request).owner).list, view),
    }),
    defineOperation({
      ...read,
      method: 'GET',
      path: one,
      summary: 'Reads a SAML service provider',
      answer: ServiceProviderItem,
      handle: async (request) => view(await found(request)),
    }),
    defineOperation({
      ...write,
      method: 'PATCH',
      path: one,
      summary: 'Changes a SAML service provider; its entityID stays, because people are known to it by that',
      body: patch,
      respelled,
      answer: ServiceProviderItem,
      errors: ['impersonation_operator_required', ...ofMetadata],
      async handle(request) {
        const before = await found(request);
        const { impersonation = before.impersonation } = request.body;
        checkOperator(request, { impersonation });
        request.checkMatch(view(before));
        const { metadata: _, metadataUrl, overridden, ...change } = indexed(request.body);
        const stays = [...(overridden ?? before.source?.overridden ?? []), ...Object.keys(change)];
        if (request.body.metadata !== undefined && before.source?.url !== undefined && metadataUrl !== null)
          refuse([{ path: '/metadata', expected: 'nothing, or null as metadataUrl, because its metadata is read from there' }]);
        const document = await metadataOf(request.body, before.entityId, stays);
        await checkReferences(change, before.tid, context);
        const next = (row: ServiceProvider) => {
          request.checkMatch(view(row));
          return registrar.change(row, change, row.tid, {
            ...(document && { metadata: document }),
            ...(metadataUrl === null && { url: metadataUrl }),
            ...(overridden && { overridden }),
          });
        };
        return view(await writes.update(placeOf(request), next, request.by));
      },
    }),
    defineOperation({
      ...write,
      method: 'POST',
      path: `${one}/refresh`,
      summary: 'Reads the metadata of a SAML service provider anew, from its URL',
      answer: ServiceProviderItem,
      errors: ['metadata_url_missing', 'impersonation_operator_required', ...ofMetadata],
      async handle(request) {
        const before = await found(request);
        checkOperator(request, before);
        return view(await refresh.now(before, request.by));
      },
    }),
    defineOperation({
      ...write,
      method: 'DELETE',
      path: one,
      summary: 'Removes a SAML service provider; nobody signs in to it any more',
      record: { collection: serviceProviders.name, param: 'id' },
      removeUnreadable: (request) => writes.remove(placeOf(request), request.by),
      async handle(request) {
        request.checkMatch(view(await found(request)));
        await writes.remove(placeOf(request), request.by);
      },
    }),
  ];
}
