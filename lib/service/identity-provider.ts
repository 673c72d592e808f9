import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Middleware } from 'koa';
import type Provider from 'oidc-provider';
import type { AuthenticationRequests } from '../contract/clients/authentication-requests.js';
import type { Sessions } from '../contract/sign-in/sessions.js';
import type { Directory, Events, TenantDirectory } from '../directory/index.js';
import type { Attribution } from '../events.js';
import type { Health } from '../store/outages/health.js';

/** Whose claims are asked for, and on whose behalf. */
export interface ScopeIntrospection {
  /** The user's `sub` or `oid`, as `client` sees it, or the client that `clientId` names. */
  readonly sub: string;
  /** Identity scopes with spaces between them. @default 'perms' */
  readonly scope?: string;
  /** The tenant that is meant, where linked accounts share `sub`. */
  readonly tid?: string;
  /** A client or an API resource, whose limits hold then. @default none: every identity scope, about users of every tenant */
  readonly client?: string;
  /** The client that `sub` was given to (`client_id` of an introspection), for a caller that may introspect its tokens. @default `client` */
  readonly clientId?: string;
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
  readonly events: Events;
  readonly keys: {
    /**
     * The signing keys that were announced sign from now on, and others are announced: those who verify need no new key set. With `now`, for
     * keys that are in wrong hands, new ones sign at once and all before are removed: what they signed is void, and who keeps the key set has to
     * fetch it anew. `by` is who rotates them, for the events.
     * @throws IdpError `key_not_announced` when the announced keys were published less than `keys.rotation.announced` ago; `keys_given` with
     * `keys.signing`.
     */
    rotate(options?: { readonly now?: boolean; readonly by?: Attribution }): Promise<void>;
  };
  /** The sign-ins of users: list them, end one, end all. */
  readonly sessions: Sessions;
  /** Services bound to one tenant: there are no others for persons and users. */
  tenant(tid: string): TenantDirectory;
  /**
   * Claims of a user as they are now: what the endpoint for it answers, by the same rules.
   * @throws IdpError `invalid_client`, `invalid_scope`, `insufficient_scope`, `tid_required`, `not_found`; `claims_unavailable`.
   */
  introspectScopes(query: ScopeIntrospection): Promise<Record<string, unknown>>;
  /** Requests of clients that people approve on a device of their own (CIBA). */
  readonly ciba: AuthenticationRequests;
  /** Koa middleware: the registered routes and no others. Put it before body parsers. */
  middleware(): Middleware;
  /** For any `node:http` host: Express, Fastify, plain. */
  callback(): RequestListener;
  /** Serves by itself; `close()` ends it. */
  listen(port: number, host?: string): Promise<Server>;
  health(): Promise<Health>;
  /**
   * Drains the servers of `listen()` as `createDrain` does, dispatches the events that are left, and closes the stores. For a server of the host, call
   * `createDrain` and drain it first.
   */
  close(): Promise<void>;
}
