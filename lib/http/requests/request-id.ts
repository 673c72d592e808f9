/** What finds a request in the logs: the reference on an error page, and `requestId` in each line about the request. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

interface RequestContext {
  readonly req: IncomingMessage;
  readonly state: { requestId?: string; isBehindProxy?: boolean };
}

/** No spaces, quotes or line breaks, and no longer than ids are. */
const sane = /^[\w.:=-]{6,64}$/;

/** Behind a trusted proxy, the `X-Request-Id` that came; from anybody else it could be that of another request. */
export function requestIdOf({ req, state }: RequestContext): string {
  if (state.requestId === undefined) {
    const given = state.isBehindProxy ? req.headers['x-request-id'] : undefined;
    state.requestId = typeof given === 'string' && sane.test(given) ? given : randomBytes(6).toString('hex');
  }
  return state.requestId;
}

/** A path as logs have it: without query, and without what may be a token in it. */
export const loggedPath = (path: string): string =>
  path
    .split('?', 1)[0]!
    .replace(/[^/]{17,}/g, '…')
    .slice(0, 200);
