/** The route of the script by which applications show that their user is impersonated. The script is the same for all browsers. */
import { hash } from 'node:crypto';
import type { ExtensionContext, ExtensionRouter } from '../../lib/extension-door.js';
import { bannerScript } from './banner-script.js';

/** Seconds for which browsers cache the script. */
const KEPT_SECONDS = 3600;

export function bannerRoutes(
  router: ExtensionRouter,
  { service: { issuer, locales, own, url }, pages: { texts } }: ExtensionContext,
): void {
  const textsByLocale = Object.fromEntries(
    locales.map((locale) => {
      const words = texts(locale);
      const [named = '', unnamed = '', end = ''] = ['named', 'unnamed', 'end'].map((name) => words[`impersonation.banner.${name}`]);
      return [locale, { named, unnamed, end }];
    }),
  );
  const [fallback] = locales;
  const script = bannerScript({ end: url(`${own}/impersonation`), texts: textsByLocale, fallback: fallback ?? 'en' });
  const headers = {
    'Cache-Control': `public, max-age=${KEPT_SECONDS}`,
    ETag: `"${hash('sha256', script, 'base64url')}"`,
    // Applications of other sites load the script, also applications that are cross-origin isolated. @see HTML §7.1.4
    'Cross-Origin-Resource-Policy': 'cross-origin',
    'Content-Security-Policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    ...(issuer.startsWith('https:') && { 'Strict-Transport-Security': 'max-age=31536000; includeSubDomains' }),
  };

  router.get(`${own}/impersonation/banner.js`, (ctx) => {
    ctx.set(headers);
    ctx.type = 'text/javascript; charset=utf-8';
    ctx.status = 200;
    if (ctx.fresh) ctx.status = 304;
    else ctx.body = script;
  });
}
