/**
 * Providers of connections, for `openid-client`: discovery documents and key sets, which are read by guarded requests and cached.
 *
 * `openid-client` is loaded at the first sign-in, because services without connections do not need it.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Configuration, CustomFetch } from 'openid-client';
import { canParseUrl, type ExtensionContext, epochSeconds, isHttpsOrLocal, mismatchIn, secondsAhead } from '../../../lib/extension-door.js';
import { type Connection, connections, type Warnings } from '../records.js';
import { UnusableDocument, usableDocument } from './discovery-document.js';
import type { ConnectionSecrets } from './secrets.js';

export type OpenidClient = typeof import('openid-client');

let loading: Promise<OpenidClient> | undefined;
function openidClient(): Promise<OpenidClient> {
  loading ??= import('openid-client');
  return loading;
}

export interface Provider {
  readonly client: OpenidClient;
  readonly configuration: Configuration;
  /**
   * Runs a function with a configuration for one answer. If the answer is signed with an unknown signing key, the key set is read again, even a recent key
   * set. The provider may have rotated its signing keys since.
   */
  withLatestKeys<T>(run: (configuration: Configuration) => Promise<T>): Promise<T>;
}

/** Milliseconds for which a discovery document is cached, and for which a failed provider is not asked again. */
const KNOWN_FOR_MS = 600_000;
const FAILED_FOR_MS = 5_000;
const TIMEOUT_MS = 5_000;
/** Minimum age of a key set in seconds before `openid-client` reads it again for an unknown signing key. */
const KEYS_AGE_SECONDS = 60;
const MAX_BYTES = 256 * 1024;
const MOST = 1000;
/** Maximum difference between the clocks of a provider and of this service, in seconds. */
export const CLOCK_TOLERANCE_SECONDS = 30;

/**
 * Returns the issuer in a discovery document, if it differs from the connection's issuer only by a slash at the end. Both issuers have the same document,
 * so ID tokens have the issuer of the document.
 */
function otherSpelling(issuer: string, error: unknown): string | undefined {
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: { readonly body?: { readonly issuer?: unknown } } };
  const stated = code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED' ? cause?.body?.issuer : undefined;
  const withoutSlash = (text: string): string => text.replace(/\/$/, '');
  return typeof stated === 'string' && stated !== issuer && withoutSlash(stated) === withoutSlash(issuer) ? stated : undefined;
}

interface Remembered {
  readonly version: number;
  /** Expiry, in the time of `performance.now()`. */
  until: number;
  readonly provider: Promise<Provider>;
}

export class Providers {
  readonly #context: ExtensionContext;
  readonly #secrets: ConnectionSecrets;
  readonly #remembered = new Map<string, Remembered>();

  constructor(context: ExtensionContext, secrets: ConnectionSecrets) {
    this.#context = context;
    this.#secrets = secrets;
  }

  /** Returns whether a browser may be sent to the URL. */
  isFit(url: string): boolean {
    return isProviderUrl(url, this.#context.service.production);
  }

  /** Returns the provider of a connection. @throws Error if the provider or its discovery document cannot be used. {@link whyUnfit} returns the reason */
  get(connection: Connection): Promise<Provider> {
    const { id, version } = connection;
    const remembered = this.#remembered.get(id);
    if (remembered?.version === version && performance.now() < remembered.until) return remembered.provider;
    if (this.#remembered.size >= MOST) this.#remembered.clear();
    const provider = this.#discover(connection);
    const entry: Remembered = { version, until: performance.now() + KNOWN_FOR_MS, provider };
    this.#remembered.set(id, entry);
    provider.catch(() => {
      entry.until = performance.now() + FAILED_FOR_MS;
    });
    return provider;
  }

  async #discover(connection: Connection): Promise<Provider> {
    const client = await openidClient();
    const { now } = this.#context.service;
    const { clientId, issuer } = connection;
    /** Returns the metadata by which `openid-client` corrects the clock of this node. */
    const metadataNow = () => ({ [client.clockTolerance]: CLOCK_TOLERANCE_SECONDS, [client.clockSkew]: -secondsAhead(now) });
    const execute = [client.enableNonRepudiationChecks, ...(issuer.startsWith('http:') ? [client.allowInsecureRequests] : [])];
    const options = { execute, [client.customFetch]: this.#guardedFetch, timeout: TIMEOUT_MS / 1000 };
    const auth = await this.#authOf(client, connection);
    const discover = (url: string) => client.discovery(new URL(url), clientId, metadataNow(), auth, options);
    const published = await discover(issuer).catch((error: unknown) => {
      const other = otherSpelling(issuer, error);
      if (other === undefined) throw error;
      return discover(other);
    });
    const { document, warnings } = usableDocument(published.serverMetadata(), (url) => this.isFit(url));
    this.#keepWarnings(connection, warnings);
    const configured = (): Configuration => {
      const configuration = new client.Configuration(document, clientId, metadataNow(), auth);
      configuration[client.customFetch] = this.#guardedFetch;
      configuration.timeout = TIMEOUT_MS / 1000;
      for (const prepare of execute) prepare(configuration);
      return configuration;
    };

    let keys: ReturnType<OpenidClient['getJwksCache']>;
    return {
      client,
      configuration: configured(),
      async withLatestKeys(run) {
        const configuration = configured();
        if (keys) {
          const readAt = Math.min(keys.uat, epochSeconds(now()) + secondsAhead(now) - KEYS_AGE_SECONDS);
          client.setJwksCache(configuration, { ...keys, uat: readAt });
        }
        try {
          return await run(configuration);
        } finally {
          keys = client.getJwksCache(configuration) ?? keys;
        }
      },
    };
  }

  /** Fetches by the guarded requests of the service, with limits of time and size. */
  readonly #guardedFetch: CustomFetch = async (url, { method, headers, body }) => {
    const answer = await this.#context.http.fetch(url, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers: headers as Record<string, string>,
      ...(body === undefined || body === null ? {} : { body: String(body) }),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      allowLoopback: !this.#context.service.production,
    });
    const isEmpty = answer.status === 204 || answer.status === 304 || answer.status < 200;
    return new Response(isEmpty ? null : new Uint8Array(answer.body), {
      status: Math.max(answer.status, 200),
      headers: { ...answer.headers },
    });
  };

  /** Logs the warnings when they change, and stores them for the answers of the admin API. Sign-ins do not wait for the write. */
  #keepWarnings({ id, tid, warnings: before = [] }: Connection, warnings: Warnings): void {
    const {
      records: { collection },
      service: { logger },
    } = this.#context;
    if (isDeepStrictEqual(warnings, before)) return;
    if (warnings.length > 0)
      logger.warn({ connection: id, warnings }, 'the service ignored invalid parts of the discovery document of a provider');
    const next = ({ warnings: _, ...row }: Connection) =>
      ({ ...row, ...(warnings.length > 0 && { warnings: [...warnings] }) }) as Connection;
    void collection(connections, tid)
      .update(id, (row) => (isDeepStrictEqual(row.warnings ?? [], warnings) ? row : next(row)))
      .catch((err: unknown) => logger.info({ err, connection: id }, 'the service could not store the warnings of a connection'));
  }

  async #authOf(client: OpenidClient, connection: Connection) {
    const { clientAuth } = connection;
    if (clientAuth === 'private_key_jwt') {
      const key = await this.#secrets.signingKey(connection);
      if (key === undefined) throw new Error('the connection has no signing key');
      return client.PrivateKeyJwt(key);
    }
    const secret = this.#secrets.secretOf(connection);
    if (secret === undefined) throw new Error('the connection has no secret');
    return clientAuth === 'client_secret_post' ? client.ClientSecretPost(secret) : client.ClientSecretBasic(secret);
  }
}

/** Returns whether a provider may have this URL: https, or outside production http at a loopback address. */
export function isProviderUrl(url: string, production: boolean): boolean {
  if (!canParseUrl(url)) return false;
  const parsed = new URL(url);
  return parsed.username === '' && parsed.password === '' && isHttpsOrLocal(parsed, production);
}

/** Returns why a provider cannot be used, for the log. */
export function whyUnfit(error: unknown): string {
  if (error instanceof UnusableDocument) return error.message;
  const mismatch = mismatchIn(error);
  return mismatch === undefined
    ? 'the provider is unreachable, or its discovery document is unusable'
    : `the provider has another issuer than the connection; create the connection with the issuer of the provider; ${mismatch}`;
}
