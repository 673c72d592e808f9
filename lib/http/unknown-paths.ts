/**
 * Requests below the issuer's path that no route answers. Either a client has a wrong URL, or a proxy strips a part of the URL. Each path is logged once.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../logger.js';
import { loggedPath } from './requests/request-id.js';

/** Maximum paths that are logged, because scanners try many paths. */
const MOST = 100;

/** Watches a request that no route of the service answers. The path of the request is logged if the host has no answer either. */
export type LogUnknownPath = (req: IncomingMessage, res: ServerResponse, url: string) => void;

/** @param isBelow whether a URL is below the issuer's path. */
export function createLogUnknownPath(isBelow: (url: string) => boolean, logger: Logger): LogUnknownPath {
  const logged = new Set<string>();
  return (req, res, url) => {
    if (logged.size >= MOST || !isBelow(url)) return;
    const path = loggedPath(url);
    if (logged.has(path)) return;
    res.once('finish', () => {
      if (res.statusCode !== 404 || logged.has(path) || logged.size >= MOST) return;
      logged.add(path);
      logger.info({ method: req.method, path }, 'no route answers this path');
    });
  };
}
