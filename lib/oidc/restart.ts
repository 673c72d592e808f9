import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import { pathCookieName } from './cookie-names.js';
import type { OidcParts } from './dependencies.js';
import { interactionPath } from './interaction-path.js';
import { urlByReference } from './pushed-reference.js';
import { createSealedCookie } from './sealed-cookie.js';

type Parameters = Readonly<Record<string, string>>;

/** A day, in milliseconds: how long a sign-in that ran out can be begun anew from its own page. */
const KEPT = 24 * 60 * 60 * 1000;

/**
 * Begins an expired sign-in anew. The request stays with the browser it came from, encrypted and bound to the sign-in's own path, so an
 * abandoned one costs the service nothing.
 */
export function createRestart({ options, keyring }: OidcParts, provider: () => Provider) {
  const cookie = createSealedCookie<Parameters>(keyring, { name: pathCookieName('restart', options), purpose: 'restart', kept: KEPT });

  return {
    remember(ctx: Context, uid: string, parameters: Parameters): void {
      if (cookie.isSent(ctx)) return;
      // Good once, and for minutes.
      const { login_hint_token: _, sso_token: __, ...lasting } = parameters;
      cookie.write(ctx, uid, options.mountPath + interactionPath(options, uid), lasting);
    },

    /** Where the browser begins anew, and for which client; undefined when this browser did not begin it. */
    offer(ctx: Context, uid: string): { readonly url: string; readonly clientId: string | undefined } | undefined {
      const parameters = cookie.read(ctx, uid);
      return parameters && { url: `${options.issuer}${interactionPath(options, uid)}/restart`, clientId: parameters.client_id };
    },

    /** The same request again, by reference, as long as a pushed one. @see RFC 9126 §2.2 */
    async begin(ctx: Context, uid: string): Promise<string | undefined> {
      const parameters = cookie.read(ctx, uid);
      if (!parameters?.client_id) return undefined;
      return urlByReference(provider(), options, parameters.client_id, parameters);
    },
  };
}
