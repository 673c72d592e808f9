/** Metadata of service providers, read from its URL: at registration, once a day, and when an administrator requests it. */
import { isDeepStrictEqual } from 'node:util';
import { type Attribution, type ExtensionContext, IdpError, type Job, type JobRound } from '../../../lib/extension-door.js';
import { type ServiceProviderDescription, UnusableMetadata } from '../metadata-reader/description.js';
import { readMetadata } from '../metadata-reader/reader.js';
import type { ReaderContext } from '../metadata-reader/reading.js';
import { addressProblem } from '../service-providers/addresses.js';
import { errors, METADATA_URL, reasonOf } from '../service-providers/errors.js';
import { type ServiceProvider, serviceProviders } from '../service-providers/records.js';
import type { Registrar } from './registrar.js';
import type { ServiceProviderWrites } from './writes.js';

export interface ServiceProviderRefresh {
  /** Reads metadata in a text. @param path path that errors name. @throws IdpError `metadata_invalid` */
  read(xml: string | Uint8Array, path: string, expected: ExpectedServiceProvider): ServiceProviderDescription;
  /** Reads metadata from a URL. @param path path that errors name. @throws IdpError `metadata_unavailable`, `metadata_invalid` */
  fetch(url: string, path: string, expected: ExpectedServiceProvider): Promise<ServiceProviderDescription>;
  /**
   * Refreshes the metadata of a service provider. On a failure, the registration stays as it is, and the record gets the reason.
   * @throws IdpError `metadata_url_missing`, `metadata_unavailable`, `metadata_invalid`
   */
  now(row: ServiceProvider, by?: Attribution): Promise<ServiceProvider>;
  readonly job: Job;
}

/** Bytes of metadata, at most. Metadata of one service provider is never larger. @see SAML Metadata §2.2 */
const MOST_BYTES = 512 * 1024;
const TIMEOUT_MS = 5_000;
const ACCEPT = 'application/samlmetadata+xml, application/xml;q=0.9, text/xml;q=0.8';

/** Milliseconds until a failed refresh is retried. */
const RETRY_MS = 3_600_000;
/** Seconds between two rounds, rows in one round, and rows at the same time. */
const LOOK_SECONDS = 60;
const MOST_IN_ONE_LOOK = 200;
const AT_ONCE = 4;

/** Facts about a service provider that are known before its metadata is read. */
type ExpectedServiceProvider = Omit<ReaderContext, 'production' | 'now'>;

export const createRefresh = (context: ExtensionContext, registrar: Registrar, writes: ServiceProviderWrites): ServiceProviderRefresh =>
  new Refresh(context, registrar, writes);

class Refresh implements ServiceProviderRefresh {
  readonly job: Job = { name: 'saml.metadata', intervalSeconds: LOOK_SECONDS, atOnce: AT_ONCE, run: (round) => this.#round(round) };
  readonly #context: ExtensionContext;
  readonly #registrar: Registrar;
  readonly #writes: ServiceProviderWrites;

  constructor(context: ExtensionContext, registrar: Registrar, writes: ServiceProviderWrites) {
    this.#context = context;
    this.#registrar = registrar;
    this.#writes = writes;
  }

  read(xml: string | Uint8Array, path: string, expected: ExpectedServiceProvider): ServiceProviderDescription {
    const { production, now } = this.#context.service;
    try {
      return readMetadata(xml, { ...expected, production, now: now() });
    } catch (error) {
      if (!(error instanceof UnusableMetadata)) throw error;
      const problems = error.faults.map((fault) => ({ path, expected: `${fault.path}: ${fault.expected}` }));
      throw errors('metadata_invalid', { ...problems[0], problems });
    }
  }

  async fetch(url: string, path: string, expected: ExpectedServiceProvider): Promise<ServiceProviderDescription> {
    const { http, service } = this.#context;
    const problem = addressProblem(url, service.production);
    if (problem !== undefined) throw new IdpError('invalid_record', { path, expected: problem });
    const request = { timeoutMs: TIMEOUT_MS, maxBytes: MOST_BYTES, headers: { accept: ACCEPT }, allowLoopback: !service.production };
    const answer = await http.fetch(url, request).catch((err: unknown) => {
      // Only the log gets the reason. In the answer, reasons would map the network of the service.
      service.logger.warn({ err, host: new URL(url).host }, 'the service could not fetch SAML metadata');
      throw errors('metadata_unavailable', { path, expected: 'a URL that answers' });
    });
    if (answer.status !== 200) throw errors('metadata_unavailable', { path, expected: `a URL that answers 200, not ${answer.status}` });
    return this.read(answer.body, path, expected);
  }

  async now(row: ServiceProvider, by?: Attribution): Promise<ServiceProvider> {
    const { id, tid: owner, entityId, signingCertificates, source: { url, overridden } = { overridden: [] } } = row;
    if (url === undefined) throw errors('metadata_url_missing');
    /** Returns whether the URL is unchanged. An administrator who changed the URL during the refresh has read the metadata of the new URL. */
    const isSame = (current: ServiceProvider): boolean => current.source?.url === url;
    try {
      const expected = { entityId, overridden: new Set(overridden), hadCertificates: signingCertificates.length > 0 };
      const metadata = { url, description: await this.fetch(url, METADATA_URL, expected) };
      this.#logWarnings(row, metadata.description);
      const next = (current: ServiceProvider) => (isSame(current) ? this.#registrar.change(current, {}, owner, { metadata }) : current);
      return await this.#writes.update({ owner, id }, next, by);
    } catch (error) {
      if (!(error instanceof IdpError) || error.status >= 500) throw error;
      const failed = (current: ServiceProvider): ServiceProvider => (isSame(current) ? this.#failed(current, error) : current);
      await this.#writes.update({ owner, id }, failed).catch(IdpError.unless('not_found'));
      throw error;
    }
  }

  /** Refreshes the service providers that are due. A failure is stored in the record and does not fail the round. */
  async #round({ signal, attempt }: JobRound): Promise<void> {
    const { records, service } = this.#context;
    const due = await records.collectionOfAllTenants(serviceProviders).range({
      index: 'byRefresh',
      within: [],
      below: new Date(service.now()),
      limit: MOST_IN_ONE_LOOK,
    });
    for (const row of due) {
      if (signal.aborted) return;
      await attempt(row, async () => {
        await this.now(row).catch((err: unknown) =>
          service.logger.warn({ err, serviceProvider: row.id }, 'the service could not refresh SAML metadata'),
        );
      });
    }
  }

  /** Logs the parts that are left out, unless the last refresh left out the same parts. */
  #logWarnings({ id, source }: ServiceProvider, { warnings }: ServiceProviderDescription): void {
    if (warnings.length === 0 || isDeepStrictEqual(warnings, source?.warnings)) return;
    this.#context.service.logger.warn({ serviceProvider: id, warnings }, 'the service ignored invalid parts of SAML metadata');
  }

  #failed(current: ServiceProvider, error: IdpError): ServiceProvider {
    const { now } = this.#context.service;
    if (!current.source) return current;
    return {
      ...current,
      source: { ...current.source, problem: reasonOf(error) },
      failingSince: current.failingSince ?? new Date(now()),
      refreshAt: new Date(now() + RETRY_MS),
    };
  }
}
