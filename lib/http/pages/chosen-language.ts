import type { Context } from 'koa';
import type { ExtensionContext } from '../../contract/extension-context.js';

const languageTag = /^[\w-]{1,35}$/;

/**
 * Returns the language that the user chose in the language menu of the pages; undefined if no language was chosen. The chosen language precedes
 * `ui_locales` of the request and the browser's languages. A mail that a page sends is in the language of the page.
 * @example
 * ```ts
 * import { chosenLanguage, wantedLocale, locales } from 'tenant-idp/extension';
 *
 * export const localeOf = (...asked: Parameters<typeof chosenLanguage>) => wantedLocale({ uiLocales: chosenLanguage(...asked) }, locales);
 * ```
 * @param keptFor the path of a sign-in, for the rest of which the chosen language is stored. @default the language is not stored
 */
export function chosenLanguage(
  ctx: Pick<Context, 'method' | 'request' | 'query' | 'cookies'>,
  { http: { cookieName } }: Pick<ExtensionContext, 'http'>,
  keptFor?: string,
): string | undefined {
  const cookie = cookieName('locale');
  const { ui_locales: chosen } = ctx.method === 'POST' ? ((ctx.request.body ?? {}) as Record<string, unknown>) : ctx.query;
  if (typeof chosen !== 'string') return ctx.cookies.get(cookie, { signed: false });
  if (keptFor !== undefined && languageTag.test(chosen))
    ctx.cookies.set(cookie, chosen, { signed: false, path: keptFor, httpOnly: true, sameSite: 'lax', overwrite: true });
  return chosen;
}
