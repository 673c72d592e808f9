/** Discovery documents of providers: the parts that are used, and warnings about invalid parts. @see OpenID Connect Discovery 1.0 §3 */
import type { ServerMetadata } from 'openid-client';
import type { Warnings } from '../records.js';

/** A discovery document without a part that every sign-in needs. */
export class UnusableDocument extends Error {
  override readonly name = 'UnusableDocument';
}

/** Members whose URL the service calls, or sends a browser to, in the order of their use. */
const required = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const;
const optional = ['userinfo_endpoint', 'end_session_endpoint', 'pushed_authorization_request_endpoint'] as const;

/**
 * Returns the document without invalid parts that no sign-in needs, and a warning for each invalid part.
 * @param isFit returns whether a provider may have the URL
 * @throws UnusableDocument if a part that each sign-in needs is missing or invalid
 */
export function usableDocument(
  document: ServerMetadata,
  isFit: (url: string) => boolean,
): { document: ServerMetadata; warnings: Warnings } {
  const isUrl = (value: unknown): boolean => typeof value === 'string' && isFit(value);
  const needed = [...required, ...(document.require_pushed_authorization_requests === true ? ([optional[2]] as const) : [])];
  const missing = needed.find((name) => !isUrl(document[name]));
  if (missing !== undefined)
    throw new UnusableDocument(`the discovery document of the provider has no https URL as ${missing}; the provider has to correct it`);
  const leftOut: ReadonlySet<string> = new Set(
    optional.filter((name) => (document[name] ?? undefined) !== undefined && !isUrl(document[name])),
  );
  const rest = Object.entries(document).filter(([name, value]) => value !== null && !leftOut.has(name));
  return {
    document: Object.fromEntries(rest) as ServerMetadata,
    warnings: [...leftOut].map((name) => ({ path: `/${name}`, reason: 'It is left out, because it is not an https URL.' })),
  };
}
