import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Middleware } from 'koa';
import type Provider from 'oidc-provider';
import type { Directory, Events, TenantDirectory } from './directory/index.js';
import type { Sessions } from './sessions.js';

/** What answers whether it can serve. */
export interface Health {
  readonly status: 'up' | 'down';
  readonly artifacts: 'up' | 'down';
  readonly directory: 'up' | 'down';
}

/** A request listener of `node:http`; with a third argument, what is not ours goes on to it (Express). */
export type RequestListener = (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void) => void;

/** A running identity provider. */
export interface IdentityProvider {
  readonly issuer: string;
  /** The oidc-provider underneath, as it is now: replaced when keys rotate, so listeners belong in the option `onProvider`. Its interface is not ours to keep. */
  readonly provider: Provider;
  /** The services over the durable records, across tenants where that has a meaning. */
  readonly directory: Directory;
  /** Events of this service, on the node that dispatches them. */
  readonly events: Pick<Events, 'on'>;
  /** The sign-ins of users: list them, end one, end all. */
  readonly sessions: Sessions;
  /** Services bound to one tenant: there are no others for persons and users. */
  tenant(tid: string): TenantDirectory;
  /** Koa middleware: the registered routes and no others. Put it before body parsers. */
  middleware(): Middleware;
  /** For any `node:http` host: Express, Fastify, plain. */
  callback(): RequestListener;
  /** Serves by itself; `close()` ends it. */
  listen(port: number, host?: string): Promise<Server>;
  health(): Promise<Health>;
  /** Stops accepting, lets requests end, dispatches what is left, closes the stores. */
  close(): Promise<void>;
}
