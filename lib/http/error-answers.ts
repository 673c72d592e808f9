/**
 * Which HTTP status and error code a caller is told of what was thrown. The surfaces only write it in their formats: pages, problem details and OAuth errors in
 * `errors`, the protocol's endpoints in `lib/oidc`.
 */
import { IdpError } from '../errors.js';

export interface ErrorAnswer {
  readonly status: number;
  /** `error` of OAuth, `code` of problem details. */
  readonly code: string;
  readonly description: string;
  /** What else the caller did wrong; empty where the fault is ours. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Seconds after which the caller may try again, where the error says so. */
  readonly retryAfterSeconds?: unknown;
}

/** An error of ours is told as it is, up to status 499; one of a library if its `expose` says that its message is for callers; else nothing internal gets out. */
export function answerTo(error: unknown): ErrorAnswer {
  if (error instanceof IdpError) return answerToOwn(error);
  const { status, expose, message } = (error ?? {}) as { readonly status?: unknown; readonly expose?: unknown; readonly message?: unknown };
  const isExposed = expose === true && typeof status === 'number' && status >= 400 && status < 500;
  return isExposed ? { status, code: 'invalid_request', description: String(message), details: {} } : failed(500, 'server_error');
}

function answerToOwn({ status, code, message, details }: IdpError): ErrorAnswer {
  const answer =
    status < 500
      ? { status, code, description: message, details }
      : failed(status, status === 503 ? 'temporarily_unavailable' : 'server_error');
  return { ...answer, retryAfterSeconds: details.retryAfterSeconds };
}

/** OAuth names one code for a malformed request; every other status keeps the error's own. @see RFC 6749 §5.2 */
export function oauthAnswerTo(error: unknown): ErrorAnswer {
  const answer = answerTo(error);
  return answer.status === 400 ? { ...answer, code: 'invalid_request' } : answer;
}

const failed = (status: number, code: string): ErrorAnswer => ({
  status,
  code,
  description: 'the service could not answer: try again later, or send its operator the time of the request',
  details: {},
});
