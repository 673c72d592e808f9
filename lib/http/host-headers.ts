/** Response headers that middleware of a host set before the service's middleware ran. */
import type { ServerResponse } from 'node:http';

/**
 * Headers that answers of the service set themselves, or that must be absent from some answers:
 * - answers in a frame that applications embed,
 * - pages in a pop-up,
 * - answers that other origins may read,
 * - documents that may be cached.
 *
 * The host decides about Strict-Transport-Security.
 */
export const ownHeaders = [
  'Access-Control-Allow-Credentials',
  'Access-Control-Allow-Headers',
  'Access-Control-Allow-Methods',
  'Access-Control-Allow-Origin',
  'Access-Control-Expose-Headers',
  'Access-Control-Max-Age',
  'Cache-Control',
  'Content-Security-Policy',
  'Content-Security-Policy-Report-Only',
  'Cross-Origin-Embedder-Policy',
  'Cross-Origin-Opener-Policy',
  'Cross-Origin-Resource-Policy',
  'Expires',
  'Permissions-Policy',
  'Pragma',
  'Referrer-Policy',
  'Surrogate-Control',
  'X-Content-Type-Options',
  'X-Frame-Options',
] as const;

/** Removes the host's headers from an answer of the service. */
export function removeOwnHeaders(res: ServerResponse): void {
  // If there is no host app, no headers have been set.
  if (res.getHeaderNames().length === 0) return;
  for (const name of ownHeaders) res.removeHeader(name);
}
