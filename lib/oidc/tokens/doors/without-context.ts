/** Requests that the plain door answers before there is a Koa context, because a context takes much of the time of these answers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ProtocolApp } from '../../../http/app.js';
import type { PlainDoor } from './plain-door.js';
import type { PlainContext } from './plain-request.js';

type Endpoint = Parameters<PlainDoor['withoutContext']>[1];

const methods: Readonly<Record<Endpoint, string>> = { introspection: 'POST', userinfo: 'GET' };

/** @param paths of the endpoints. A path has no query. */
export function createWithoutContext(
  door: Pick<PlainDoor, 'withoutContext'>,
  paths: Readonly<Record<Endpoint, string>>,
): ProtocolApp['withoutContext'] {
  const endpoints = new Map<string, Endpoint>([
    [paths.introspection, 'introspection'],
    [paths.userinfo, 'userinfo'],
  ]);
  return (req, res, path) => {
    const endpoint = endpoints.get(path);
    if (endpoint === undefined || req.method !== methods[endpoint] || !isUntouched(req, res)) return undefined;
    return () => door.withoutContext(new BareContext(req, res), endpoint);
  };
}

/** Returns whether the body can be read, nobody has to decompress the body, and no middleware of a host set a header that the answer extends. */
const isUntouched = (req: IncomingMessage, res: ServerResponse): boolean =>
  req.readable && req.headers['content-encoding'] === undefined && !res.hasHeader('Vary');

class BareContext implements PlainContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly state = {};
  readonly querystring = '';

  constructor(req: IncomingMessage, res: ServerResponse) {
    this.req = req;
    this.res = res;
  }

  /** The door asks only about unusual headers. A request with such a header gets a context. */
  accepts(): 'html' {
    return 'html';
  }
}
