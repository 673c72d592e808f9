/** Request ids, by which requests are found in the logs. The id is the reference on an error page, and `requestId` in each log line about the request. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

interface RequestContext {
  readonly req: IncomingMessage;
  readonly state: { requestId?: string; isBehindProxy?: boolean };
}

/** Form of an id: no spaces, quotes or line breaks, and a bounded length. */
const sane = /^[\w.:=-]{6,64}$/;

/**
 * Returns the id of a request. The `X-Request-Id` of the request counts only behind a trusted proxy, because another sender could repeat
 * the id of another request.
 */
export function requestIdOf({ req, state }: RequestContext): string {
  if (state.requestId === undefined) {
    const given = state.isBehindProxy ? req.headers['x-request-id'] : undefined;
    state.requestId = typeof given === 'string' && sane.test(given) ? given : randomBytes(6).toString('hex');
  }
  return state.requestId;
}

/** Returns a path for the logs, without the query and without parts that may be tokens. */
export const loggedPath = (path: string): string =>
  path
    .split('?', 1)[0]!
    .replace(/[^/]{17,}/g, '…')
    .slice(0, 200);
