import type { KoaContextWithOIDC } from 'oidc-provider';
import type { OidcParts } from './dependencies.js';
import type { Scopes } from './scopes.js';

type Document = Readonly<Record<string, unknown>>;

/**
 * Makes the discovery document tell what is true now: scopes are data, and some members oidc-provider fixes are ours to say. It is written once
 * for each set of scopes; all else in it is the configuration's.
 * @param own members that extensions add.
 */
export function createDiscovery({ claims }: OidcParts, scopes: Scopes, own: Document): (ctx: KoaContextWithOIDC) => void {
  const written = new WeakMap<ReadonlySet<string>, string>();
  const write = (document: Document, known: ReadonlySet<string>): string => {
    const claimNames = new Set([...(document.claims_supported as string[]), ...claims.declarations.map(({ name }) => name)]);
    // oidc-provider always lists `acr`; no sign-in here has one.
    claimNames.delete('acr');
    const text = JSON.stringify({ ...document, scopes_supported: [...known], claims_supported: [...claimNames], ...own });
    written.set(known, text);
    return text;
  };
  return (ctx) => {
    const known = scopes.known(ctx);
    // The type that oidc-provider's own document has stays.
    ctx.body = written.get(known) ?? write(ctx.body as Document, known);
  };
}
