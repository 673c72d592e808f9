/** What a request to the admin API came to grief of. */
import type { AdminErrorCode } from './operations.js';

/** One place in a request that is not as it should be. @see RFC 6901 */
export interface Problem {
  /** Into the body. */
  readonly pointer?: string;
  /** Of the query. */
  readonly parameter?: string;
  readonly expected?: string;
  readonly didYouMean?: string;
}

export interface AdminApiError extends Error {
  readonly name: 'AdminApiError';
  /** Of the answer; 0 without one. */
  readonly status: number;
  /**
   * The `code` of the problem details, or the `error` of the token endpoint. `unreachable` where there was no answer (`cause` says why), and
   * `unexpected_answer` where it was none of the service.
   */
  readonly code: AdminErrorCode | 'unreachable' | 'unexpected_answer' | (string & {});
  /** The places that are wrong, where the service names them. */
  readonly problems: readonly Problem[];
  /** By which the service's log knows the request. */
  readonly requestId?: string;
  /** Seconds after which the service wants to be asked again. */
  readonly retryAfter?: number;
}

/**
 * Whether something that was thrown is an {@link AdminApiError}.
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

/** Of an answer that refuses: problem details, or an error of OAuth. @see RFC 9457, RFC 6749 §5.2 */
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
