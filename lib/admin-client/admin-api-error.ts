/** Errors of requests to the admin API. */
import type { AdminErrorCode } from './operations.js';

/** An invalid part of a request. @see RFC 6901 */
export interface Problem {
  /** JSON Pointer into the body. */
  readonly pointer?: string;
  /** Name of a query parameter. */
  readonly parameter?: string;
  readonly expected?: string;
  readonly didYouMean?: string;
}

export interface AdminApiError extends Error {
  readonly name: 'AdminApiError';
  /** HTTP status of the answer; 0 without an answer. */
  readonly status: number;
  /**
   * The `code` of the problem details, or the `error` of the token endpoint. `unreachable` if there was no answer (`cause` has the reason), and
   * `unexpected_answer` if the answer was not the service's.
   */
  readonly code: AdminErrorCode | 'unreachable' | 'unexpected_answer' | (string & {});
  /** Invalid parts of the request, if the service names them. */
  readonly problems: readonly Problem[];
  /** Id of the request in the service's log. */
  readonly requestId?: string;
  /** Seconds after which to retry, if the service names them. */
  readonly retryAfter?: number;
}

/**
 * Returns whether a thrown value is an {@link AdminApiError}.
 * @example
 * ```ts
 * import { type AdminClient, isAdminApiError } from 'tenant-idp/admin-client';
 *
 * export const nameOf = (admin: AdminClient, tid: string): Promise<string | undefined> =>
 *   admin.request('GET /tenants/{tid}', { params: { tid } }).then(
 *     ({ name }) => name,
 *     (error: unknown) => {
 *       if (isAdminApiError(error) && error.code === 'not_found') return undefined;
 *       throw error;
 *     },
 *   );
 * ```
 */
export const isAdminApiError = (error: unknown): error is AdminApiError => error instanceof Error && error.name === 'AdminApiError';

interface Told extends Pick<AdminApiError, 'status' | 'code'> {
  readonly problems?: readonly Problem[] | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfter?: number | undefined;
}

export function adminApiError(
  message: string,
  { status, code, problems = [], requestId, retryAfter }: Told,
  cause?: unknown,
): AdminApiError {
  const error = new Error(message, cause === undefined ? {} : { cause });
  return Object.assign(error, {
    name: 'AdminApiError' as const,
    status,
    code,
    problems,
    ...(requestId !== undefined && { requestId }),
    ...(retryAfter !== undefined && { retryAfter }),
  });
}

/** Returns the error of a response that refuses the request: problem details, or an OAuth error. @see RFC 9457, RFC 6749 §5.2 */
export async function refusalOf(response: Response, what: string): Promise<AdminApiError> {
  const told = await response.json().then(membersOf, () => ({}) as Members);
  const code = told.code ?? told.error;
  const sentence = told.detail ?? told.title ?? told.error_description ?? `answered ${response.status}`;
  const seconds = response.headers.get('retry-after');
  return adminApiError(`${what}: ${sentence}${code === undefined ? '' : ` (${code})`}`, {
    status: response.status,
    code: code ?? 'unexpected_answer',
    problems: told.errors,
    requestId: response.headers.get('x-request-id') ?? undefined,
    retryAfter: seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) : undefined,
  });
}

interface Members {
  readonly code?: string;
  readonly error?: string;
  readonly title?: string;
  readonly detail?: string;
  readonly error_description?: string;
  readonly errors?: readonly Problem[];
}

const membersOf = (body: unknown): Members => (typeof body === 'object' && body !== null ? (body as Members) : {});
