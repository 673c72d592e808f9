/** Response headers of the pages. @see OWASP ASVS 5.0 V3.4 */
import { createHash } from 'node:crypto';
import { policySource } from '../header-values.js';

/** Sources that a page may load: the page's inline style and script by hash, images by address, frames by origin. */
export interface PagePolicy {
  /** CSP sources of the inline styles, as `hashSource` gives them. */
  readonly styles: readonly string[];
  /** CSP source of the inline script. If absent, no script runs. */
  readonly script?: string;
  /** https URLs, or paths of this origin. @default none */
  readonly images?: readonly string[];
  /** URLs of frames, whose origins are allowed. If absent, no frame is allowed. */
  readonly frames?: readonly string[];
}

/**
 * Returns the CSP source that allows an inline style or script with exactly this text.
 * @see Content Security Policy Level 3 §2.3.1
 * @example
 * ```ts
 * import { hashSource, pageHeaders } from 'tenant-idp/extension';
 *
 * export const style = 'body { font: 1rem/1.5 sans-serif; }';
 * export const headers = pageHeaders('https://login.example.com', { styles: [hashSource(style)] });
 * ```
 */
export function hashSource(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

const sourcesOf = (urls: readonly string[], part: 'origin' | 'path'): string[] => [
  ...new Set(urls.flatMap((url) => policySource(url, part) ?? [])),
];

const directive = (name: string, sources: readonly string[]): string[] => (sources.length === 0 ? [] : [`${name} ${sources.join(' ')}`]);

function contentSecurityPolicy({ styles, script, images = [], frames = [] }: PagePolicy): string {
  // No form-action: Chromium and Safari apply it to the whole redirect chain that follows a form, up to the client.
  return [
    "default-src 'none'",
    `style-src ${styles.join(' ')}`,
    ...(script === undefined ? [] : [`script-src ${script}`]),
    ...directive('img-src', sourcesOf(images, 'path')),
    ...directive('frame-src', sourcesOf(frames, 'origin')),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/**
 * Returns the headers for a page of the issuer. HSTS is among the headers only if the issuer is https.
 * @example
 * ```ts
 * import { type Extension, hashSource, html, pageHeaders } from 'tenant-idp/extension';
 *
 * const style = 'body { font: 1rem/1.5 sans-serif; }';
 * export const about: Extension = {
 *   name: 'about',
 *   routes(router, { service }) {
 *     router.get('/about', (ctx) => {
 *       ctx.set(pageHeaders(service.issuer, { styles: [hashSource(style)] }));
 *       ctx.type = 'html';
 *       ctx.body = String(html`<!doctype html><title>About</title><h1>${service.issuer}</h1>`);
 *     });
 *   },
 * };
 * ```
 */
export function pageHeaders(issuer: string, policy: PagePolicy): Record<string, string> {
  return {
    'Content-Security-Policy': contentSecurityPolicy(policy),
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Permissions-Policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
    'Cache-Control': 'no-store',
    ...(issuer.startsWith('https:') && { 'Strict-Transport-Security': 'max-age=31536000; includeSubDomains' }),
  };
}
