import type { ClaimSubject } from '../../claims/contract.js';
import type { ClaimResolver, RequestClaims } from '../../claims/resolver.js';
import { perRequest } from '../artifacts/per-request.js';

/** Returns the claims of a subject in a request. Tokens of one request share the data that plugins load. */
export function createRequestClaims(resolver: ClaimResolver): (ctx: object | undefined, subject: ClaimSubject) => RequestClaims {
  const begun = perRequest(() => [] as { readonly subject: ClaimSubject; readonly claims: RequestClaims }[]);
  return (ctx, subject) => {
    // If access tokens have no claims, no request makes two tokens that share claims.
    if (!ctx || !resolver.isForAccessTokens) return resolver.forRequest(subject);
    const known = begun(ctx).find((other) => isSame(other.subject, subject));
    if (known) return known.claims;
    const claims = resolver.forRequest(subject);
    begun(ctx).push({ subject, claims });
    return claims;
  };
}

/** Returns whether two subjects are the same. Plugins see the scopes, so a token with other scopes has another subject. */
const isSame = (one: ClaimSubject, other: ClaimSubject): boolean =>
  one.person === other.person &&
  one.client === other.client &&
  one.login === other.login &&
  one.scopes.size === other.scopes.size &&
  [...one.scopes].every((scope) => other.scopes.has(scope));
