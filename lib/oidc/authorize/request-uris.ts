/** Request objects at a URL that the client registered. The service fetches the object, which replaces the URL. */
import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { GuardedResponse } from '../../fetch/guarded-fetch.js';
import type { Client } from '../../store/records/records.js';
import { canParseUrl } from '../../text/can-parse-url.js';
import { nodeTime } from '../../times/node-time.js';
import { pushedIdOf } from '../artifacts/ids.js';
import { perRequest } from '../artifacts/per-request.js';
import { findCaller, isClient } from '../clients/clients.js';
import type { OidcParts } from '../context.js';

/** Problem of a request with both parameters, and its remedy. */
export const BOTH_REQUESTS = 'request and request_uri cannot be used together. Send one of them.';

/** @see RFC 9101 §5.2.3, OpenID Connect Core §6.2 */
const mediaTypes = ['application/oauth-authz-req+jwt', 'application/jwt'];
const LIMITS = { timeoutMs: 2000, maxBytes: 65_536, headers: { accept: mediaTypes.join(', ') } };

/** Milliseconds for which the content of a URL with a fragment is cached, and maximum bytes of all. */
const KEPT_MS = 10 * 60_000;
const MAX_KEPT = 16 * 1024 * 1024;

/** Checks the metadata of a client. @throws InvalidClientMetadata @see OpenID Connect Dynamic Client Registration §2 */
export function checkRequestUris(_ctx: unknown, _name: string, uris: unknown): void {
  const isRight =
    Array.isArray(uris) && uris.every((uri) => typeof uri === 'string' && /^https?:\/\/[^/@]+(?:[/?#]|$)/.test(uri) && canParseUrl(uri));
  if (uris !== undefined && !isRight)
    throw new errors.InvalidClientMetadata('request_uris of the client is malformed. Write an array of https URLs.');
}

export interface RequestUris {
  /** Replaces a registered URL by its request object. */
  resolve(ctx: Context): Promise<void>;
  /** Returns the request object at a URL of the client; undefined if the URL is not registered, or cannot be read. */
  fetch(client: Client, uri: string): Promise<string | undefined>;
  /** @throws InvalidRequest, InvalidRequestUri */
  check(ctx: KoaContextWithOIDC): void;
}

/** @see RFC 9101 §5.2 */
export function createRequestUris({ directory, remote, logger }: OidcParts): RequestUris {
  const problems = perRequest((): { uri?: string } => ({}));
  const documents = remote.reader(LIMITS, requestObjectOf);
  const kept = new LRUCache<string, { readonly text: string; readonly until: number }>({
    maxSize: MAX_KEPT,
    sizeCalculation: ({ text }) => text.length + 1,
  });

  /**
   * Reads the object. A URL with a fragment is cached, because the fragment identifies the content. Without a fragment, the content may differ for each
   * request.
   */
  async function read(uri: string): Promise<string> {
    if (!uri.includes('#')) return documents.readAnew(uri);
    const known = kept.get(uri);
    if (known && nodeTime() < known.until) return known.text;
    const text = await documents.read(uri);
    kept.set(uri, { text, until: nodeTime() + KEPT_MS });
    return text;
  }

  /** Returns the object. The caller does not learn why it cannot be read, because the reason would reveal the network. */
  async function readable({ id }: Client, uri: string): Promise<string | undefined> {
    try {
      return await read(uri);
    } catch (error) {
      logger.info({ err: error, client: id }, 'the service could not read a request_uri');
      return undefined;
    }
  }

  return {
    async resolve(ctx) {
      const { client_id: clientId, request_uri: uri, request } = ctx.query;
      // A parameter without a value is absent. @see RFC 6749 §3.1
      if (typeof uri !== 'string' || uri === '' || pushedIdOf(uri) !== undefined || typeof clientId !== 'string' || request) return;
      const client = await findCaller(directory, clientId);
      if (!isClient(client)) return;
      if (!isRegistered(client, uri)) {
        problems(ctx).uri = 'request_uri is not registered. Add it to request_uris of the client.';
        return;
      }
      const found = await readable(client, uri);
      if (found === undefined) {
        problems(ctx).uri = 'request_uri could not be read. Check that the URL answers 200 with a request object.';
        return;
      }
      const { request_uri: _, ...query } = ctx.query;
      Object.defineProperty(ctx, 'query', { configurable: true, value: { ...query, request: found } });
    },
    fetch: async (client, uri) => (isRegistered(client, uri) ? readable(client, uri) : undefined),
    check(ctx) {
      const { route, params } = ctx.oidc;
      if (route !== 'authorization' && route !== 'pushed_authorization_request') return;
      if (params?.request !== undefined && params.request_uri !== undefined) throw new errors.InvalidRequest(BOTH_REQUESTS);
      const { uri } = problems(ctx);
      if (uri !== undefined) throw new errors.InvalidRequestUri(uri);
    },
  };
}

function isRegistered({ metadata: { request_uris: registered } }: Client, uri: string): boolean {
  return Array.isArray(registered) && registered.includes(uri);
}

function requestObjectOf({ status, headers, body }: GuardedResponse): string {
  if (status !== 200) throw new Error(`${status} is not 200`);
  const [type = ''] = (headers['content-type'] ?? '').toLowerCase().split(';');
  if (!mediaTypes.includes(type.trim())) throw new Error(`${type} is not the type of a request object`);
  return body.toString().trim();
}
