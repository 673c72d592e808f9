/** Requests to the admin API, typed by its operations. */
import { createAccessTokens } from './access-tokens.js';
import { type AdminApiError, adminApiError, isAdminApiError, refusalOf } from './admin-api-error.js';
import type { Operations } from './operations.js';

/** Method and path of an operation: `GET /tenants/{tid}/persons`. */
export type Route = keyof Operations;

export interface RequestOptions {
  /** The `ETag` of the record. If the record now has another state, a change is refused with `precondition_failed`. */
  readonly ifMatch?: string;
  /** Idempotency key of a POST. If several requests have the same key, the service runs one of them within 24 hours. @default a new key for each call */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

/** Input of an operation: parameters of the path, the query and the body. */
export type InputOf<R extends Route> = Omit<Operations[R], 'answer'> & RequestOptions;

export type AnswerOf<R extends Route> = Operations[R]['answer'];

/** Routes whose answer is a page of a list. */
export type ListRoute = { [R in Route]: AnswerOf<R> extends { readonly items: readonly unknown[] } ? R : never }[Route];

export type ItemOf<R extends ListRoute> = AnswerOf<R> extends { readonly items: readonly (infer Item)[] } ? Item : never;

/** The input is optional if none of its members is required. */
type Input<R extends Route> = object extends InputOf<R> ? [input?: InputOf<R>] : [input: InputOf<R>];

/** An answer with its headers. */
export interface AdminExchange<R extends Route> {
  readonly answer: AnswerOf<R>;
  readonly status: number;
  /** Value for {@link RequestOptions.ifMatch}. */
  readonly etag?: string;
  /** URL of the created record. */
  readonly location?: string;
  readonly requestId?: string;
}

export interface AdminClient {
  /** Sends a request and returns its answer. @throws AdminApiError */
  request<R extends Route>(route: R, ...input: Input<R>): Promise<AnswerOf<R>>;
  /** Sends a request and returns its answer with headers. @throws AdminApiError */
  exchange<R extends Route>(route: R, ...input: Input<R>): Promise<AdminExchange<R>>;
  /** Returns all items of a list. Requests each page when its items are needed. @throws AdminApiError */
  each<R extends ListRoute>(route: R, ...input: Input<R>): AsyncGenerator<ItemOf<R>, void, void>;
}

export interface AdminClientOptions {
  /** Issuer of the service. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Scopes of the admin API that tokens are requested with, such as `idp.persons:write`. The tokens have no other scopes. */
  readonly scopes: readonly string[];
  /** Maximum number of retries, for requests that can be retried. @default 3 */
  readonly retries?: number;
  /** Maximum milliseconds of an attempt. @default 30_000 */
  readonly timeout?: number;
  /** @default the global `fetch` */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

interface AnyInput extends RequestOptions {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
}

/**
 * @example
 * ```ts
 * import { createAdminClient } from 'tenant-idp/admin-client';
 *
 * const admin = createAdminClient({
 *   issuer: 'https://id.example.com',
 *   clientId: 'hr-sync',
 *   clientSecret: process.env.HR_SYNC_SECRET ?? '',
 *   scopes: ['idp.tenants:read'],
 * });
 * for await (const tenant of admin.each('GET /tenants')) console.log(tenant.id, tenant.name);
 * ```
 */
export function createAdminClient(options: AdminClientOptions): AdminClient {
  const { issuer, scopes, retries = 3, timeout = 30_000, fetch: given = (url, init) => globalThis.fetch(url, init) } = options;

  async function send(url: string, { signal, ...init }: RequestInit): Promise<Response> {
    const late = AbortSignal.timeout(timeout);
    try {
      return await given(url, { ...init, redirect: 'error', signal: signal ? AbortSignal.any([signal, late]) : late });
    } catch (cause) {
      if (signal?.aborted) throw cause;
      throw adminApiError(`${new URL(url).origin} cannot be reached`, { status: 0, code: 'unreachable' }, cause);
    }
  }

  const discover = once(async (): Promise<{ readonly token_endpoint: string; readonly admin_api_endpoint: string }> => {
    const response = await send(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, {
      headers: { accept: 'application/json' },
    });
    if (!response.ok) throw await refusalOf(response, 'no discovery document');
    const document = (await response.json()) as { token_endpoint: string; admin_api_endpoint?: string };
    if (document.admin_api_endpoint === undefined)
      throw adminApiError(`${issuer} has no admin API`, { status: response.status, code: 'unexpected_answer' });
    return { ...document, admin_api_endpoint: document.admin_api_endpoint };
  });
  const tokens = createAccessTokens({ ...options, scopes, send, url: async () => (await discover()).token_endpoint });

  async function attempt(route: string, method: string, url: string, init: RequestInit): Promise<Response> {
    for (let isFirst = true; ; isFirst = false) {
      const token = await tokens.current();
      const response = await send(url, { ...init, method, headers: { ...(init.headers as object), authorization: `Bearer ${token}` } });
      if (response.ok) return response;
      const refusal = await refusalOf(response, route);
      if (refusal.code !== 'invalid_token') throw refusal;
      // The token was revoked, or the client's secret was changed.
      tokens.drop(token);
      if (!isFirst) throw refusal;
    }
  }

  async function exchange(route: string, input: AnyInput = {}): Promise<AdminExchange<never>> {
    const [method = '', template = ''] = route.split(' ');
    const path = template.replace(/\{(\w+)\}/g, (_, name: string) => segmentOf(name, input.params?.[name]));
    const asked = Object.entries(input.query ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
    const query = asked.length > 0 ? `?${new URLSearchParams(asked)}` : '';
    const headers: Record<string, string> = { accept: 'application/json' };
    if (input.ifMatch !== undefined) headers['if-match'] = input.ifMatch;
    if (method === 'POST') headers['idempotency-key'] = input.idempotencyKey ?? crypto.randomUUID();
    if (input.body !== undefined) headers['content-type'] = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const init: RequestInit = {
      headers,
      ...(input.body !== undefined && { body: JSON.stringify(input.body) }),
      ...(input.signal && { signal: input.signal }),
    };
    return withRetries(retries, repeatable.has(method), async () => {
      const { admin_api_endpoint: base } = await discover();
      return readAnswer(await attempt(route, method, base + path + query, init), route);
    });
  }

  return {
    exchange: (route, ...[input]) => exchange(route, input as AnyInput),
    request: async (route, ...[input]) => (await exchange(route, input as AnyInput)).answer,
    async *each(route, ...[input]) {
      for (let after: string | undefined; ; ) {
        const given = input as AnyInput | undefined;
        const page = { ...given, query: { ...given?.query, ...(after !== undefined && { after }) } };
        const { items, next } = (await exchange(route, page)).answer as { readonly items: readonly never[]; readonly next?: string };
        yield* items;
        // The feed of events always has a next page, which is the position at which to continue when there are more events.
        if (next === undefined || next === after) return;
        after = next;
      }
    },
  };
}

/**
 * Methods that can be retried. A POST has an idempotency key. A retried DELETE could get `not_found` after its success, and a retried PATCH could undo a
 * concurrent change.
 */
const repeatable: ReadonlySet<string> = new Set(['GET', 'PUT', 'POST']);

/** Milliseconds before the second attempt. Doubles for each further attempt. */
const FIRST_WAIT_MS = 200;
/** Maximum seconds of `Retry-After` that the client waits. The program that uses the client decides about longer times. */
const LONGEST_WAIT_SECONDS = 60;

/**
 * Retries requests that the service did not process, or that the service may process twice. @param isRepeatable whether processing the request twice does
 * no harm.
 */
async function withRetries<T>(most: number, isRepeatable: boolean, attempt: () => Promise<T>): Promise<T> {
  for (let count = 0; ; count += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!isAdminApiError(error) || count >= most || !(wasNotDone(error) || (isRepeatable && mayPass(error)))) throw error;
      const { retryAfter } = error;
      if (retryAfter !== undefined && retryAfter > LONGEST_WAIT_SECONDS) throw error;
      const wait = retryAfter === undefined ? FIRST_WAIT_MS * 2 ** count * (0.5 + Math.random()) : retryAfter * 1000;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}

const wasNotDone = ({ status }: AdminApiError): boolean => status === 429;

const mayPass = ({ status, code }: AdminApiError): boolean =>
  code === 'unreachable' || code === 'idempotency_in_progress' || status === 502 || status === 503 || status === 504;

function segmentOf(name: string, value: string | undefined): string {
  // `URL` would change the path for these values.
  if (value === undefined || value === '' || value === '.' || value === '..')
    throw new TypeError(`params.${name} is not an id. Give a text other than '', '.' and '..'.`);
  return encodeURIComponent(value);
}

async function readAnswer(response: Response, route: string): Promise<AdminExchange<never>> {
  const { status, headers } = response;
  const [etag, location, requestId] = ['etag', 'location', 'x-request-id'].map((name) => headers.get(name));
  const answer: unknown =
    status === 204
      ? undefined
      : await response.json().catch((cause: unknown) => {
          throw adminApiError(
            `The answer of ${route} is not JSON. Check that the URL is that of the admin API.`,
            { status, code: 'unexpected_answer' },
            cause,
          );
        });
  return {
    answer: answer as never,
    status,
    ...(etag && { etag }),
    ...(location && { location }),
    ...(requestId && { requestId }),
  };
}

/** Returns a function that calls `ask` once and returns the result each time. A failure is not stored. */
function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined;
  return () => {
    asked ??= ask().catch((error: unknown) => {
      asked = undefined;
      throw error;
    });
    return asked;
  };
}
