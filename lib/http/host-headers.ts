/** What a host's middleware set before ours ran. */
import type { ServerResponse } from 'node:http';

/**
 * Headers that our answers set themselves or rely on the absence of: a frame that applications embed, pages in a pop-up, answers that other origins
 * read by our rules, documents that may be kept. Strict-Transport-Security is the host's to say.
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

/** Takes them off an answer that is ours to give. */
export function removeOwnHeaders(res: ServerResponse): void {
  // Without a host in front there are none.
  if (res.getHeaderNames().length === 0) return;
  for (const name of ownHeaders) res.removeHeader(name);
}
