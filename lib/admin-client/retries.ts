/** What is sent again: what the service did not do, or may do twice. */
import { type AdminApiError, isAdminApiError } from './admin-api-error.js';

/** Milliseconds before the first attempt after another; twice as many each time. */
const FIRST_WAIT_MS = 200;
/** Seconds of `Retry-After` that are waited for; more is for the caller to decide. */
const LONGEST_WAIT_SECONDS = 60;

/** @param isRepeatable whether it does no harm to do it twice. */
export async function withRetries<T>(most: number, isRepeatable: boolean, attempt: () => Promise<T>): Promise<T> {
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
