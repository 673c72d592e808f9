/** Writes of service providers: by the admin API, by the seed, and by a refresh of metadata. */
import { isDeepStrictEqual } from 'node:util';
import { type Attribution, DAY_MS, type ExtensionContext, IdpError } from '../../../lib/extension-door.js';
import { expiriesOf } from '../service-providers/certificates.js';
import { type ServiceProvider, type ServiceProviderFields, serviceProviders } from '../service-providers/records.js';
import type { Registered } from './registrar.js';

export interface Place {
  /** Owner of the service provider: a tenant's id, or `ofInstance`. */
  readonly owner: string;
  readonly id: string;
}

export interface ServiceProviderWrites {
  /** Stores a new service provider. @throws IdpError `conflict` if the owner has another service provider with the entityID; `invalid_record` */
  create(place: Place, registered: Registered, by: Attribution): Promise<ServiceProvider>;
  /** Changes a service provider. @param change is called again after a concurrent write. @throws IdpError `not_found`, `invalid_record` */
  update(place: Place, change: (row: ServiceProvider) => ServiceProvider, by?: Attribution): Promise<ServiceProvider>;
  /** Removes a service provider. @throws IdpError `not_found` */
  remove(place: Place, by: Attribution): Promise<void>;
}

export function createWrites({ records: { collection }, service: { now } }: ExtensionContext): ServiceProviderWrites {
  const rowsOf = ({ owner }: Place) => collection(serviceProviders, owner);
  type Type = 'ServiceProviderCreated' | 'ServiceProviderUpdated' | 'ServiceProviderRemoved';
  const event = (type: Type, { id }: Place, by?: Attribution) => ({ type, data: { AggregateId: id }, ...(by && { by }) });

  return {
    async create(place, registered, by) {
      const createdAt = new Date(now()).toISOString();
      const fields = withDueTimes(now(), { ...registered, createdAt, updatedAt: createdAt });
      try {
        return await rowsOf(place).insert(fields, { id: place.id, events: [event('ServiceProviderCreated', place, by)] });
      } catch (error) {
        throw IdpError.is(error, 'conflict') ? new IdpError('conflict', { path: '/entityId' }) : error;
      }
    },

    async update(place, change, by) {
      let isOther = false;
      return rowsOf(place).update(
        place.id,
        (before) => {
          const next = withDueTimes(now(), change(before), before);
          isOther = !isDeepStrictEqual(announcedPart(next), announcedPart(before));
          if (isOther) return { ...next, updatedAt: new Date(now()).toISOString() };
          return isDeepStrictEqual(next, before) ? before : next;
        },
        () => (isOther ? [event('ServiceProviderUpdated', place, by)] : []),
      );
    },

    async remove(place, by) {
      await rowsOf(place).remove(place.id, [event('ServiceProviderRemoved', place, by)]);
    },
  };
}

/** Returns the members whose change raises an event. A refresh that changed nothing raises no event. */
function announcedPart({
  source,
  refreshAt: _,
  failingSince: __,
  expiresAt: ___,
  updatedAt: ____,
  ...rest
}: ServiceProviderFields): object {
  const { url, overridden } = source ?? {};
  return { ...rest, url, overridden };
}

/**
 * Sets the instants that jobs and health search by. A disabled service provider has no instants. So its metadata is not refreshed, and health does not
 * report it.
 */
function withDueTimes<Fields extends ServiceProviderFields>(now: number, given: Fields, before?: ServiceProviderFields): Fields {
  const { refreshAt, failingSince, expiresAt: _, ...fields } = given;
  const { status, source, signingCertificates, encryptionCertificate } = given;
  if (status !== 'active') return fields as Fields;
  const isReadAnew = source?.url !== undefined;
  const wasRead = source?.readAt !== before?.source?.readAt;
  // Spreads refreshes, because many service providers may be registered at the same time.
  const isNext = new Date(now + DAY_MS * (0.9 + 0.1 * Math.random()));
  const due = wasRead ? isNext : (refreshAt ?? new Date(now));
  const runsOut = [
    ...(source?.validUntil === undefined ? [] : [Date.parse(source.validUntil)]),
    ...(encryptionCertificate === undefined ? [] : expiriesOf([encryptionCertificate]).map(Number)),
    ...(signingCertificates.length === 0 ? [] : [Math.max(...expiriesOf(signingCertificates).map(Number))]),
  ];
  return {
    ...fields,
    ...(isReadAnew && { refreshAt: due }),
    ...(isReadAnew && failingSince && !wasRead ? { failingSince } : {}),
    ...(runsOut.length > 0 && { expiresAt: new Date(Math.min(...runsOut)) }),
  } as Fields;
}
