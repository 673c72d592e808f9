/**
 * HTTP status and error code of the answer to an error that was thrown. Other files only write the answer in their formats: pages, problem details and
 * OAuth errors in `errors`, and the protocol's endpoints in `lib/oidc`.
 */
import { IdpError } from '../errors.js';

export interface ErrorAnswer {
  readonly status: number;
  /** `error` of OAuth, `code` of problem details. */
  readonly code: string;
  readonly description: string;
  /** Details of a fault of the request; empty for a fault of the service. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Seconds after which the client may retry, if the error has this number. */
  readonly retryAfterSeconds?: unknown;
}

/**
 * Returns the answer to an error. An error of the service is answered unchanged, up to status 499. An error of a library is answered unchanged if its
 * `expose` states that its message is for clients. All other answers reveal nothing internal.
 */
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

/**
 * Returns the error code. OAuth has one code for a malformed request; every other status keeps the code of the error.
 * @see RFC 6749 §5.2
 */
export function oauthAnswerTo(error: unknown): ErrorAnswer {
  const answer = answerTo(error);
  return answer.status === 400 ? { ...answer, code: 'invalid_request' } : answer;
}

const failed = (status: number, code: string): ErrorAnswer => ({
  status,
  code,
  description: 'The service could not answer. Try again later, or send its operator the time of the request.',
  details: {},
});
