/** Metadata of service providers, read where it is published: when they are registered, daily, and when an administrator says so. */
import { isDeepStrictEqual } from 'node:util';
import { type Attribution, type ExtensionContext, IdpError, type Job } from '../../../lib/extension-door.js';
import { type ServiceProviderDescription, UnusableMetadata } from '../metadata-reader/description.js';
import { readMetadata } from '../metadata-reader/reader.js';
import type { Known } from '../metadata-reader/reading.js';
import { addressProblem } from '../service-providers/addresses.js';
import { errors, METADATA_URL, reasonOf } from '../service-providers/errors.js';
import { type ServiceProvider, serviceProviders } from '../service-providers/records.js';
import type { Registrar } from './registrar.js';
import type { ServiceProviderWrites } from './writes.js';

export interface ServiceProviderRefresh {
  /** @param path what errors point to. @throws IdpError `metadata_invalid` */
  read(xml: string | Uint8Array, path: string, known: Omit<Known, 'production' | 'now'>): ServiceProviderDescription;
  /** @throws IdpError `metadata_unavailable`, `metadata_invalid` */
  fetch(url: string, path: string, known: Omit<Known, 'production' | 'now'>): Promise<ServiceProviderDescription>;
  /** Reads metadata anew; where that fails, what stands stays, and the record says why. @throws IdpError `metadata_url_missing` and as above */
  now(row: ServiceProvider, by?: Attribution): Promise<ServiceProvider>;
  readonly job: Job;
}

/** @see SAML Metadata §2.2, as metadata of one service provider is never larger */
const MOST_BYTES = 512 * 1024;
const TIMEOUT_MS = 5_000;
const ACCEPT = 'application/samlmetadata+xml, application/xml;q=0.9, text/xml;q=0.8';

/** Milliseconds after which a URL that failed is tried again. */
const RETRY_MS = 3_600_000;
/** Seconds between two looks at what is due, how many are read in one, and how many at once. */
const LOOK_SECONDS = 60;
const MOST_IN_ONE_LOOK = 200;
const AT_ONCE = 4;

export function createRefresh(context: ExtensionContext, registrar: Registrar, writes: ServiceProviderWrites): ServiceProviderRefresh {
  const {
    records: { collectionOfAllTenants },
    service: { logger, production },
  } = context;

  function read(xml: string | Uint8Array, path: string, known: Omit<Known, 'production' | 'now'>): ServiceProviderDescription {
    try {
      return readMetadata(xml, { ...known, production, now: context.service.now() });
    } catch (error) {
      if (!(error instanceof UnusableMetadata)) throw error;
      const problems = error.faults.map((fault) => ({ path, expected: `${fault.path}: ${fault.expected}` }));
      throw errors('metadata_invalid', { ...problems[0], problems });
    }
  }

  async function fetchMetadata(url: string, path: string, known: Omit<Known, 'production' | 'now'>): Promise<ServiceProviderDescription> {
    const problem = addressProblem(url, production);
    if (problem !== undefined) throw new IdpError('invalid_record', { path, expected: problem });
    const request = { timeoutMs: TIMEOUT_MS, maxBytes: MOST_BYTES, headers: { accept: ACCEPT }, allowLoopback: !production };
    const answer = await context.http.fetch(url, request).catch((err: unknown) => {
      // Only the log tells why: the answer would be a map of the network that the service is in.
      logger.warn({ err, host: new URL(url).host }, 'SAML metadata could not be fetched');
      throw errors('metadata_unavailable', { path, expected: 'a URL that answers' });
    });
    if (answer.status !== 200) throw errors('metadata_unavailable', { path, expected: `a URL that answers 200, not ${answer.status}` });
    return read(answer.body, path, known);
  }

  /** Logs the parts that are left out, once until they change. */
  function tellWarnings({ id, source }: ServiceProvider, { warnings }: ServiceProviderDescription): void {
    if (warnings.length === 0 || isDeepStrictEqual(warnings, source?.warnings)) return;
    logger.warn(
      { serviceProvider: id, warnings },
      'parts of SAML metadata are wrong and left out; the service provider has to correct them',
    );
  }

  async function now(row: ServiceProvider, by?: Attribution): Promise<ServiceProvider> {
    const { id, tid: owner, entityId, signingCertificates, source: { url, overridden } = { overridden: [] } } = row;
    if (url === undefined) throw errors('metadata_url_missing');
    /** Who changed the URL meanwhile has read what is there. */
    const isSame = (current: ServiceProvider): boolean => current.source?.url === url;
    try {
      const known = { entityId, overridden: new Set(overridden), hadCertificates: signingCertificates.length > 0 };
      const metadata = { url, description: await fetchMetadata(url, METADATA_URL, known) };
      tellWarnings(row, metadata.description);
      const next = (current: ServiceProvider) => (isSame(current) ? registrar.change(current, {}, owner, { metadata }) : current);
      return await writes.update({ owner, id }, next, by);
    } catch (error) {
      if (!(error instanceof IdpError) || error.status >= 500) throw error;
      const problem = reasonOf(error);
      const failed = (current: ServiceProvider): ServiceProvider =>
        current.source && isSame(current)
          ? {
              ...current,
              source: { ...current.source, problem },
              failingSince: current.failingSince ?? new Date(context.service.now()),
              refreshAt: new Date(context.service.now() + RETRY_MS),
            }
          : current;
      await writes.update({ owner, id }, failed).catch(IdpError.unless('not_found'));
      throw error;
    }
  }

  return {
    read,
    fetch: fetchMetadata,
    now,
    job: {
      name: 'saml.metadata',
      intervalSeconds: LOOK_SECONDS,
      async run(signal) {
        const due = await collectionOfAllTenants(serviceProviders).range({
          index: 'byRefresh',
          within: [],
          below: new Date(context.service.now()),
          limit: MOST_IN_ONE_LOOK,
        });
        const waiting = due.values();
        const turn = async (): Promise<void> => {
          for (const row of waiting) {
            if (signal.aborted) return;
            await now(row).catch((err: unknown) => logger.warn({ err, serviceProvider: row.id }, 'SAML metadata could not be refreshed'));
          }
        };
        await Promise.all(Array.from({ length: AT_ONCE }, turn));
      },
    },
  };
}
