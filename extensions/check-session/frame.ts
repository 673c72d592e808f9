import { Html, hashSource, html } from '../../lib/extension-door.js';
import { type FrameScriptOptions, frameScript } from './frame-script.js';

/**
 * Returns the page and its headers. Page and headers are the same for every request. No other page of the service may be framed.
 * @see OpenID Connect Session Management 1.0 §3.2
 */
export function checkSessionFrame({ issuer, ...options }: FrameScriptOptions & { readonly issuer: string }) {
  const script = frameScript(options);
  return {
    page: html`<!doctype html><meta charset="utf-8"><title>Check session</title><script>${new Html(script)}</script>`.markup,
    headers: {
      'Content-Security-Policy': `default-src 'none'; script-src ${hashSource(script)}; connect-src 'self'; base-uri 'none'; frame-ancestors *`,
      // Lets cross-origin isolated pages embed the frame. @see HTML §7.1.4
      'Cross-Origin-Resource-Policy': 'cross-origin',
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
      'Cache-Control': 'public, max-age=300',
      ...(issuer.startsWith('https:') && { 'Strict-Transport-Security': 'max-age=31536000; includeSubDomains' }),
    },
  };
}
