import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Middleware } from 'koa';
import type Provider from 'oidc-provider';
import type { AuthenticationRequests } from '../contract/clients/authentication-requests.js';
import type { Sessions } from '../contract/sign-in/sessions.js';
import type { Directory, Events, TenantDirectory } from '../directory/index.js';
import type { Attribution } from '../events.js';
import type { Health } from '../store/outages/health.js';

/** A request for claims of a user: the user, and the caller on whose behalf. */
export interface ScopeIntrospection {
  /** `sub` or `oid` of the user, in the form that `client` gets. With `clientId`, in the form that the client of `clientId` gets. */
  readonly sub: string;
  /** Identity scopes with spaces between them. @default 'perms' */
  readonly scope?: string;
  /** Id of the tenant, if linked accounts share `sub`. */
  readonly tid?: string;
  /** Id of a client or an API resource, whose rules apply. @default none: every identity scope, for users of every tenant */
  readonly client?: string;
  /** Id of the client that got `sub` (`client_id` of an introspection), for a caller that may introspect its tokens. @default `client` */
  readonly clientId?: string;
}

/** Answers a request: a request listener of `node:http`. If there is a third argument, other requests are passed on to it (Express). */
export type RequestListener = (req: IncomingMessage, res: ServerResponse, next?: (error?: unknown) => void) => void;

/** A running identity provider. */
export interface IdentityProvider {
  readonly issuer: string;
  /**
   * The current oidc-provider. Add listeners in the option `onProvider`, because the service replaces oidc-provider when signing keys rotate. The interface
   * of this member may change with oidc-provider.
   */
  readonly provider: Provider;
  /** Services over the durable records. Records of a tenant are in {@link tenant}. */
  readonly directory: Directory;
  /** Events of this service, on the node that dispatches them. */
  readonly events: Events;
  readonly keys: {
    /**
     * Rotates the signing keys: the announced signing keys start to sign, and others are announced. Verifiers need no new key set. Use `now` for signing
     * keys that another party may have. New signing keys then sign immediately, and all earlier signing keys are removed. Signatures of the earlier keys
     * become invalid, and verifiers have to fetch the key set again. `by` is the attribution for the events.
     * @throws IdpError `key_not_announced` if the announced signing keys were published less than `keys.rotation.announced` ago; `keys_given` with
     * `keys.signing`.
     */
    rotate(options?: { readonly now?: boolean; readonly by?: Attribution }): Promise<void>;
  };
  /** Sessions of users: list them, end one, end all. */
  readonly sessions: Sessions;
  /** Returns the services of one tenant, which are the only services for persons and users. */
  tenant(tid: string): TenantDirectory;
  /**
   * Returns the current claims of a user, by the rules of the endpoint for scope introspection.
   * @throws IdpError `invalid_client`, `invalid_scope`, `insufficient_scope`, `tid_required`, `not_found`; `claims_unavailable`.
   */
  introspectScopes(query: ScopeIntrospection): Promise<Record<string, unknown>>;
  /** Authentication requests that users approve on their own device (CIBA). */
  readonly ciba: AuthenticationRequests;
  /** Returns Koa middleware for the registered routes. Put it before body parsers. */
  middleware(): Middleware;
  /** Returns a listener for any `node:http` host: Express, Fastify, plain. */
  callback(): RequestListener;
  /** Starts a server. `close()` stops the server. */
  listen(port: number, host?: string): Promise<Server>;
  health(): Promise<Health>;
  /**
   * Drains the servers of `listen()` as `createDrain` does, dispatches the remaining events, and closes the stores. If the host has its own server, drain
   * that server first, by `createDrain`.
   */
  close(): Promise<void>;
}
