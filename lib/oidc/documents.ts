import { hash } from 'node:crypto';
import type { Context } from 'koa';
import type { OidcParts } from './dependencies.js';
import type { Scopes } from './scopes.js';

type Members = Readonly<Record<string, unknown>>;

interface Document {
  readonly text: string;
  readonly type: string;
  readonly etag: string;
}

/** As the service specification lists them: `token` alone works, and is not listed. */
const listedTypes: Readonly<Record<string, string | readonly string[]>> = { 'id_token token': 'token id_token', token: [] };

/** The discovery document and the key set: written once for each change, then answered as they are. */
export interface Documents {
  /** Answers a request for a document that was written; tells whether it did. */
  answer(ctx: Context): boolean;
  /** Keeps what oidc-provider wrote, completed by what is ours to say. */
  keep(ctx: Context): void;
}

/**
 * Scopes are data, so there is a discovery document for each set of them; all else in it, and the key set, is the configuration's.
 * @param own members that extensions add to discovery.
 */
export function createDocuments({ claims }: OidcParts, scopes: Scopes, { jwks }: { readonly jwks: string }, own: Members): Documents {
  const written = new WeakMap<ReadonlySet<string>, Map<string, Document>>();
  const paths = new Set([jwks, '/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']);
  const keySet = new Map<string, Document>();
  /** The key set does not change with the scopes, and is there when they cannot be read. */
  const documentsOf = (ctx: Context): Map<string, Document> => {
    if (ctx.path === jwks) return keySet;
    const known = scopes.known(ctx);
    const documents = written.get(known) ?? new Map<string, Document>();
    written.set(known, documents);
    return documents;
  };
  const discovery = (members: Members, known: ReadonlySet<string>): Members => {
    const names = new Set([...(members.claims_supported as string[]), ...claims.declarations.map(({ name }) => name)]);
    // oidc-provider always lists `acr`; no sign-in here has one.
    names.delete('acr');
    return {
      ...members,
      response_types_supported: (members.response_types_supported as string[]).flatMap((type) => listedTypes[type] ?? type),
      // @see Initiating User Registration via OpenID Connect 1.0 §4.2
      prompt_values_supported: ['none', 'login', 'consent', 'select_account', 'create'],
      scopes_supported: [...known],
      claims_supported: [...names],
      ...own,
    };
  };
  const send = (ctx: Context, { text, type, etag }: Document): void => {
    ctx.status = 200;
    ctx.set({ 'Content-Type': type, ETag: etag });
    if (ctx.fresh) ctx.status = 304;
    else ctx.body = text;
  };

  return {
    answer(ctx) {
      const { path, method, req } = ctx;
      const document = paths.has(path) && (method === 'GET' || method === 'HEAD') ? documentsOf(ctx).get(path) : undefined;
      if (!document) return false;
      ctx.set({ Vary: 'Origin', 'Access-Control-Allow-Origin': req.headers.origin ?? '*' });
      send(ctx, document);
      return true;
    },
    keep(ctx) {
      const { path, method, status, body } = ctx;
      if (!paths.has(path) || method !== 'GET' || status !== 200) return;
      const text = JSON.stringify(path === jwks ? body : discovery(body as Members, scopes.known(ctx)));
      const document = {
        text,
        type: String(ctx.response.get('Content-Type')),
        etag: `"${hash('sha256', text, 'base64url').slice(0, 27)}"`,
      };
      documentsOf(ctx).set(path, document);
      send(ctx, document);
    },
  };
}
