import type { Context } from 'koa';
import type Provider from 'oidc-provider';
import type { OidcParts } from './dependencies.js';
import { urlByReference } from './pushed-reference.js';

type Parameters = Readonly<Record<string, string>>;

/** A day, in milliseconds: how long a sign-in that ran out can be begun anew from its own page. */
const KEPT = 24 * 60 * 60 * 1000;
/** Browsers keep 4096 bytes of a cookie, its name and attributes included. */
const MAX_LENGTH = 3800;

/**
 * Begins an expired sign-in anew. The request stays with the browser it came from, encrypted and bound to the sign-in's own path, so an
 * abandoned one costs the service nothing.
 */
export function createRestart({ options, keyring }: OidcParts, provider: () => Provider) {
  const name = options.secure ? '__Secure-idp.restart' : 'idp.restart';
  const pathOf = (uid: string) => `${options.mountPath}${options.paths.own}/interaction/${uid}`;

  const read = (ctx: Context, uid: string): Parameters | undefined => {
    const cookie = ctx.cookies.get(name, { signed: false });
    if (!cookie) return undefined;
    try {
      return JSON.parse(keyring.decrypt('restart', uid, cookie)) as Parameters;
    } catch {
      return undefined;
    }
  };

  return {
    remember(ctx: Context, uid: string, parameters: Parameters): void {
      if (ctx.cookies.get(name, { signed: false })) return;
      // Good once, and for minutes.
      const { login_hint_token: _, sso_token: __, ...lasting } = parameters;
      const value = keyring.encrypt('restart', uid, JSON.stringify(lasting));
      if (value.length > MAX_LENGTH) return;
      ctx.cookies.set(name, value, { signed: false, path: pathOf(uid), httpOnly: true, sameSite: 'lax', maxAge: KEPT, overwrite: true });
    },

    /** Where the browser begins anew, and for which client; undefined when this browser did not begin it. */
    offer(ctx: Context, uid: string): { readonly url: string; readonly clientId: string | undefined } | undefined {
      const parameters = read(ctx, uid);
      return parameters && { url: `${options.issuer}${options.paths.own}/interaction/${uid}/restart`, clientId: parameters.client_id };
    },

    /** The same request again, by reference, as long as a pushed one. @see RFC 9126 §2.2 */
    async begin(ctx: Context, uid: string): Promise<string | undefined> {
      const parameters = read(ctx, uid);
      if (!parameters?.client_id) return undefined;
      return urlByReference(provider(), options, parameters.client_id, parameters);
    },
  };
}
