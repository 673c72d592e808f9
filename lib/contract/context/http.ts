import type { Context, Middleware } from 'koa';
import type { FetchProblem } from '../../fetch/fetch-rules.js';
import type { GuardedFetch } from '../../fetch/guarded-fetch.js';
import type { BearerState } from '../bearer.js';
import type { PostedForms } from '../sign-in/sign-in-request.js';

/** Tokens that prove where a form came from: from a page of this service, in the same browser, for the same sign-in. */
export interface Csrf {
  /** Returns a new token at each call, so that a token identifies one view of a form. @param subject of the form, such as an interaction's uid. */
  token(ctx: Context, subject: string): string;
  /** Checks a token. Returns false also if a page of another origin sent the request. */
  check(ctx: Context, subject: string, token: unknown): boolean;
  /** Returns a secret that is the same for each call with the same name and browser. Use it as the id of a record that no other browser may find. */
  ticket(ctx: Context, name: string): string;
}

/** The group `http` of the context: requests that routes of the extension get, and requests that the extension makes. */
export interface ExtensionHttp {
  /**
   * Returns middleware that requires a valid access token for the API resource, with these scopes. The middleware puts the token on
   * `ctx.state.accessToken`. Responses 401 `invalid_token` and 403 `insufficient_scope` have `WWW-Authenticate`. The API resource and the scopes have to
   * exist when the service starts. A token that is bound to a key or a certificate needs a proof of possession.
   * @see RFC 6750, RFC 9449 §7, RFC 8705 §3
   */
  bearer(audience: string, ...scopes: readonly string[]): Middleware<BearerState>;
  /**
   * Tokens of forms, in the hidden field `csrf`. A route that reads the form with `form` evaluates each form once, even if the browser sends the form
   * twice.
   */
  readonly csrf: Csrf;
  /** Forms that pages of other sites have the browser post here. */
  readonly postedForms: PostedForms;
  /**
   * Returns the name of a cookie that browsers send only to paths below the issuer's. The name has the prefix of the option `cookies.prefix`. The name also
   * has `__Secure-` if the issuer is https. @param name the extension's own name for the cookie, such as `tour.seen`
   */
  cookieName(name: string): string;
  /** Name of the cookie by which a script of this origin sees that the browser's sign-in changed. */
  readonly browserStateCookie: string;
  /** Returns the id of a request, as in the log and on the page about an error. */
  requestId(ctx: Context): string;
  /** Calls a URL that a client or an administrator chose. Allowed are https at public addresses, and hosts of the option `outgoing.allowHosts`. */
  readonly fetch: GuardedFetch;
  /**
   * Checks a URL that the service will call, when the URL is written. In production, rejects a host that is an address outside the Internet, unless
   * `outgoing.allowHosts` has the host. Returns what the URL should be instead. Accepts host names, because the service looks them up at each call.
   */
  readonly fetchProblem: FetchProblem;
}
