import { hash } from 'node:crypto';
import type { Context } from 'koa';
import type { Document } from '../http/documents.js';
import { foldedPath } from '../paths.js';
import { isAdminScope } from '../store/records/admin-scopes.js';
import type { Scopes } from './accounts/scopes.js';
import type { OidcParts } from './context.js';

type Members = Readonly<Record<string, unknown>>;

/** As the service specification lists them: `token` alone works, and is not listed. */
const listedTypes: Readonly<Record<string, string | readonly string[]>> = { 'id_token token': 'token id_token', token: [], none: [] };

/** The discovery document and the key set: written once for each change of what they say, then answered as they are. */
export interface Documents {
  isAt(path: string): boolean;
  /** The document as it is now, if it was written and nothing has to be looked up for it. */
  peek(path: string): Document | undefined;
  /** Answers a request for a document that was written; tells whether it did. */
  answer(ctx: Context): Promise<boolean>;
  /** Keeps what oidc-provider wrote, completed by what is ours to say. */
  keep(ctx: Context): Promise<void>;
}

/** What of discovery is data: the same objects as long as nothing changed. */
interface Facts {
  readonly scopes: ReadonlySet<string>;
  readonly pkceMethods: readonly string[];
}

/** What oidc-provider wrote, and what was made of it for the facts as they were. */
interface Written {
  readonly members: Members;
  readonly type: string;
  readonly facts?: Facts;
  readonly document: Document;
}

/** How the callers of another endpoint authenticate: as at the token endpoint; but introspection takes nobody who does not. @see RFC 8414 §2 */
function authenticationAt(endpoint: 'introspection' | 'revocation', members: Members): Members {
  if (members[`${endpoint}_endpoint`] === undefined) return {};
  const methods = members.token_endpoint_auth_methods_supported as readonly string[];
  return {
    [`${endpoint}_endpoint_auth_methods_supported`]: endpoint === 'introspection' ? methods.filter((method) => method !== 'none') : methods,
    [`${endpoint}_endpoint_auth_signing_alg_values_supported`]: members.token_endpoint_auth_signing_alg_values_supported,
  };
}

const documentOf = (text: string, type: string): Document => ({
  text,
  byteLength: Buffer.byteLength(text),
  type,
  etag: `"${hash('sha256', text, 'base64url').slice(0, 27)}"`,
});

/** @param own members that extensions add to discovery. */
export function createDocuments(
  { claims, directory, offers, options }: OidcParts,
  scopes: Scopes,
  { jwks }: { readonly jwks: string },
  own: Members,
): Documents {
  const written = new Map<string, Written>();
  const discoveryPaths = new Set(['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']);
  /** The path of the document that is meant. */
  const pathOf = (path: string): string | undefined => {
    const exact = path.startsWith('/.') ? foldedPath(path) : path;
    return exact === jwks || discoveryPaths.has(exact) ? exact : undefined;
  };

  const factsNow = (): Facts | Promise<Facts> => {
    const [known, methods] = [scopes.now(), directory.pkceMethods()];
    if (!(known instanceof Promise) && !(methods instanceof Promise)) return { scopes: known, pkceMethods: methods };
    // While clients cannot be read, the methods that were written last stand; where none were, `S256` alone.
    const [before] = [...written.values()].flatMap(({ facts }) => facts ?? []);
    const pkceMethods = Promise.resolve(methods).catch(() => before?.pkceMethods ?? ['S256']);
    return Promise.all([known, pkceMethods]).then(([all, some]) => ({ scopes: all, pkceMethods: some }));
  };

  // Neither an assertion nor an access token is an answer to a client of OpenID Connect.
  const neverIssued = [
    ...(offers.serves('impersonate') ? [] : ['act']),
    ...claims.declarations.flatMap(({ name, targets }) =>
      targets.every((target) => target === 'saml' || target === 'access_token') ? name : [],
    ),
  ];

  const discovery = (members: Members, facts: Facts): Members => {
    const names = new Set([...(members.claims_supported as string[]), ...claims.declarations.map(({ name }) => name)]);
    for (const name of neverIssued) names.delete(name);
    const requestUris = members.request_parameter_supported
      ? { request_uri_parameter_supported: true, require_request_uri_registration: true }
      : {};
    return {
      ...members,
      ...requestUris,
      response_types_supported: (members.response_types_supported as string[]).flatMap((type) => listedTypes[type] ?? type),
      scopes_supported: [...facts.scopes].filter((scope) => !isAdminScope(scope)),
      claims_supported: [...names],
      code_challenge_methods_supported: facts.pkceMethods,
      ui_locales_supported: options.locales,
      ...authenticationAt('introspection', members),
      ...authenticationAt('revocation', members),
      ...own,
    };
  };

  const write = (path: string, members: Members, type: string, facts?: Facts): Document => {
    const text = JSON.stringify(facts ? discovery(members, facts) : members);
    const before = written.get(path)?.document;
    const document = before?.text === text ? before : documentOf(text, type);
    written.set(path, { members, type, ...(facts && { facts }), document });
    return document;
  };

  const current = (path: string, { members, type, facts, document }: Written, now: Facts): Document =>
    facts?.scopes === now.scopes && facts.pkceMethods === now.pkceMethods ? document : write(path, members, type, now);

  const send = (ctx: Context, { text, type, etag }: Document): void => {
    ctx.status = 200;
    ctx.set({ 'Content-Type': type, ETag: etag });
    if (ctx.fresh) ctx.status = 304;
    else ctx.body = text;
  };

  return {
    isAt: (path) => pathOf(path) !== undefined,
    peek(path) {
      const known = written.get(path);
      if (!known?.facts) return known?.document;
      const now = factsNow();
      if (!(now instanceof Promise)) return current(path, known, now);
      // Whoever answers in its place asks again, and is told what went wrong.
      now.catch(() => {});
      return undefined;
    },
    async answer(ctx) {
      const { method, req } = ctx;
      const path = pathOf(ctx.path);
      const known = path !== undefined && (method === 'GET' || method === 'HEAD') ? written.get(path) : undefined;
      if (path === undefined || !known) return false;
      const document = known.facts ? current(path, known, await factsNow()) : known.document;
      ctx.set({ Vary: 'Origin', 'Access-Control-Allow-Origin': req.headers.origin ?? '*' });
      send(ctx, document);
      return true;
    },
    async keep(ctx) {
      const { method, status, body } = ctx;
      const path = pathOf(ctx.path);
      if (path === undefined || (method !== 'GET' && method !== 'HEAD') || status !== 200) return;
      const type = String(ctx.response.get('Content-Type'));
      send(ctx, write(path, body as Members, type, path === jwks ? undefined : await factsNow()));
    },
  };
}
