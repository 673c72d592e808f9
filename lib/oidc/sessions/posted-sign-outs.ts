import { randomBytes } from 'node:crypto';
import type { ParsedUrlQuery } from 'node:querystring';
import type { Context } from 'koa';
import { postedForm, redirectByGet } from '../../http/posted-form.js';
import { hashedKey } from '../../store/artifact-key.js';
import type { OidcParts } from '../context.js';

/** Bytes of a request, whose ID token may hold many claims. */
const MAX_BYTES = 16 * 1024;
/** Milliseconds that a browser has to follow a redirect. */
const KEPT_MS = 60_000;
const PURPOSE = 'sign-out request';

/** @see OpenID Connect RP-Initiated Logout 1.0 §2 */
const parameters = ['id_token_hint', 'logout_hint', 'client_id', 'post_logout_redirect_uri', 'state', 'ui_locales'] as const;

/**
 * Requests to sign out by POST: kept, and sent on to a GET that names what was kept and works once. No ID token is in a URL by it, and cookies come
 * along. All that is wrong with a request is found there.
 * @see OpenID Connect RP-Initiated Logout 1.0 §2
 */
export function createPostedSignOuts({ artifacts, keyring, readForm }: OidcParts) {
  const keyOf = (reference: string) => hashedKey('SignOutRequest', reference);

  async function keep(given: ParsedUrlQuery): Promise<string> {
    const reference = randomBytes(32).toString('base64url');
    const value = keyring.encrypt(PURPOSE, reference, JSON.stringify(given));
    await artifacts.commit([{ op: 'put', key: keyOf(reference), value, expiresAt: Date.now() + KEPT_MS }]);
    return reference;
  }

  async function take(reference: unknown): Promise<ParsedUrlQuery | undefined> {
    if (typeof reference !== 'string') return undefined;
    const key = keyOf(reference);
    const kept = (await artifacts.read([{ key }])).get(key);
    if (!kept || kept.consumedAt !== undefined) return undefined;
    const spent = { op: 'put', key, value: '', expiresAt: kept.expiresAt, consumedAt: Date.now(), if: 'unconsumed' } as const;
    const { ok } = await artifacts.commit([spent]);
    return ok ? (JSON.parse(keyring.decrypt(PURPOSE, reference, kept.value)) as ParsedUrlQuery) : undefined;
  }

  return {
    async redirect(ctx: Context, url: string): Promise<void> {
      const form = await postedForm(ctx, readForm, MAX_BYTES);
      const given = Object.fromEntries(parameters.flatMap((name) => (form[name] === undefined ? [] : [[name, form[name]]])));
      redirectByGet(ctx, Object.keys(given).length === 0 ? url : `${url}?reference=${await keep(given)}`);
    },

    /** Puts what was posted in the place of its reference. One that is spent stands for a request without parameters, as of who reloads the page. */
    async resolve(ctx: Context): Promise<void> {
      const { reference, ui_locales: locales } = ctx.query;
      if (reference === undefined || ctx.method !== 'GET') return;
      const value = { ...(await take(reference)), ...(locales === undefined ? {} : { ui_locales: locales }) };
      Object.defineProperty(ctx, 'query', { configurable: true, value });
    },
  };
}
