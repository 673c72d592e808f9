import type { ParsedUrlQuery } from 'node:querystring';
import type { Context } from 'koa';
import { postedForm, redirectByGet } from '../../http/requests/posted-form.js';
import { present } from '../../present.js';
import type { OidcParts } from '../context.js';
import { createOneTimeRecords } from './one-time-records.js';

/** @see OpenID Connect RP-Initiated Logout 1.0 §2 */
const parameters = ['id_token_hint', 'logout_hint', 'client_id', 'post_logout_redirect_uri', 'state', 'ui_locales'] as const;

/**
 * Creates the store of sign-out requests by POST. The request is stored, and the browser is redirected to a GET with a one-time reference. So no ID token
 * is in a URL, and the browser sends its cookies. All checks run at the GET.
 * @see OpenID Connect RP-Initiated Logout 1.0 §2
 */
export function createPostedSignOuts(parts: OidcParts) {
  const requests = createOneTimeRecords<ParsedUrlQuery>(parts, { kind: 'SignOutRequest', purpose: 'sign-out request' });

  return {
    async redirect(ctx: Context, url: string): Promise<void> {
      const given = await postedForm(ctx, parts.readForm, 'minute', parameters);
      redirectByGet(ctx, Object.keys(given).length === 0 ? url : `${url}?reference=${await requests.keep(given)}`);
    },

    /** Replaces a reference by the posted parameters. A used reference stands for a request without parameters, such as a reload of the page. */
    async resolve(ctx: Context): Promise<void> {
      const { reference, ui_locales: locales } = ctx.query;
      if (reference === undefined || ctx.method !== 'GET') return;
      const value = { ...(await requests.take(reference)), ...present({ ui_locales: locales }) };
      Object.defineProperty(ctx, 'query', { configurable: true, value });
    },
  };
}
