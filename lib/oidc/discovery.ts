import { hash } from 'node:crypto';
import type { Context } from 'koa';
import type { Document } from '../http/documents.js';
import { foldedPath } from '../paths.js';
import { present } from '../present.js';
import { isAdminScope } from '../store/records/admin-scopes.js';
import type { Scopes } from './accounts/scopes.js';
import type { OidcParts } from './context.js';

type Members = Readonly<Record<string, unknown>>;

/** Response types in discovery, as the service specification lists them. `token` alone works and is not listed. */
const listedTypes: Readonly<Record<string, string | readonly string[]>> = { 'id_token token': 'token id_token', token: [], none: [] };

/** The discovery document and the key set. Each document is written once for each change of its content, and then sent unchanged. */
export interface Documents {
  isAt(path: string): boolean;
  /** Returns the current document, if the document is written and nothing has to be looked up for it. */
  peek(path: string): Document | undefined;
  /** Answers a request for a written document. Returns whether the request was answered. */
  answer(ctx: Context): Promise<boolean>;
  /** Stores the document that oidc-provider wrote, with the service's own members. */
  keep(ctx: Context): Promise<void>;
}

/** Data in discovery. The objects stay the same as long as nothing changes. */
interface Facts {
  readonly scopes: ReadonlySet<string>;
  readonly pkceMethods: readonly string[];
}

/** A document of oidc-provider, and the complete document for the data at that time. */
interface Written {
  readonly members: Members;
  readonly type: string;
  readonly facts?: Facts;
  readonly document: Document;
}

/** Returns how callers authenticate at an endpoint: as at the token endpoint, except that introspection requires authentication. @see RFC 8414 §2 */
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

const discoveryPaths: ReadonlySet<string> = new Set(['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']);

/** @param own members that extensions add to discovery. */
export const createDocuments = (parts: OidcParts, scopes: Scopes, { jwks }: { readonly jwks: string }, own: Members): Documents =>
  new PublishedDocuments(parts, scopes, jwks, own);

class PublishedDocuments implements Documents {
  readonly #parts: OidcParts;
  readonly #scopes: Scopes;
  readonly #jwks: string;
  readonly #own: Members;
  readonly #written = new Map<string, Written>();
  /** Claims that no client of OpenID Connect gets, because their only targets are SAML and access tokens. */
  readonly #neverIssued: readonly string[];

  constructor(parts: OidcParts, scopes: Scopes, jwks: string, own: Members) {
    const { offers, claims } = parts;
    this.#parts = parts;
    this.#scopes = scopes;
    this.#jwks = jwks;
    this.#own = own;
    this.#neverIssued = [
      ...(offers.serves('impersonate') ? [] : ['act']),
      ...claims.declarations.flatMap(({ name, targets }) =>
        targets.every((target) => target === 'saml' || target === 'access_token') ? name : [],
      ),
    ];
  }

  isAt(path: string): boolean {
    return this.#pathOf(path) !== undefined;
  }

  peek(path: string): Document | undefined {
    const written = this.#written.get(path);
    if (!written?.facts) return written?.document;
    const now = this.#factsNow();
    if (!(now instanceof Promise)) return this.#current(path, written, now);
    // The code that answers the request reads again, and gets the error.
    now.catch(() => {});
    return undefined;
  }

  async answer(ctx: Context): Promise<boolean> {
    const { method, req } = ctx;
    const path = this.#pathOf(ctx.path);
    const written = path !== undefined && (method === 'GET' || method === 'HEAD') ? this.#written.get(path) : undefined;
    if (path === undefined || !written) return false;
    const document = written.facts ? this.#current(path, written, await this.#factsNow()) : written.document;
    ctx.set({ Vary: 'Origin', 'Access-Control-Allow-Origin': req.headers.origin ?? '*' });
    send(ctx, document);
    return true;
  }

  async keep(ctx: Context): Promise<void> {
    const { method, status, body } = ctx;
    const path = this.#pathOf(ctx.path);
    if (path === undefined || (method !== 'GET' && method !== 'HEAD') || status !== 200) return;
    const type = String(ctx.response.get('Content-Type'));
    send(ctx, this.#write(path, body as Members, type, path === this.#jwks ? undefined : await this.#factsNow()));
  }

  /** Returns the path of a document, in the spelling of its route. */
  #pathOf(path: string): string | undefined {
    const exact = path.startsWith('/.') ? foldedPath(path) : path;
    return exact === this.#jwks || discoveryPaths.has(exact) ? exact : undefined;
  }

  #factsNow(): Facts | Promise<Facts> {
    const [known, methods] = [this.#scopes.now(), this.#parts.directory.pkceMethods()];
    if (!(known instanceof Promise) && !(methods instanceof Promise)) return { scopes: known, pkceMethods: methods };
    // If clients cannot be read, the methods of the last document stay. If there is no last document, `S256` alone is listed.
    const [before] = [...this.#written.values()].flatMap(({ facts }) => facts ?? []);
    const pkceMethods = Promise.resolve(methods).catch(() => before?.pkceMethods ?? ['S256']);
    return Promise.all([known, pkceMethods]).then(([all, some]) => ({ scopes: all, pkceMethods: some }));
  }

  #current(path: string, { members, type, facts, document }: Written, now: Facts): Document {
    return facts?.scopes === now.scopes && facts.pkceMethods === now.pkceMethods ? document : this.#write(path, members, type, now);
  }

  #write(path: string, members: Members, type: string, facts?: Facts): Document {
    const text = JSON.stringify(facts ? this.#discovery(members, facts) : members);
    const before = this.#written.get(path)?.document;
    const document = before?.text === text ? before : documentOf(text, type);
    this.#written.set(path, { members, type, ...present({ facts }), document });
    return document;
  }

  #discovery(members: Members, facts: Facts): Members {
    const { claims, options } = this.#parts;
    const names = new Set([...(members.claims_supported as string[]), ...claims.declarations.map(({ name }) => name)]);
    for (const name of this.#neverIssued) names.delete(name);
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
      ...this.#own,
    };
  }
}

function send(ctx: Context, { text, type, etag }: Document): void {
  ctx.status = 200;
  ctx.set({ 'Content-Type': type, ETag: etag });
  if (ctx.fresh) ctx.status = 304;
  else ctx.body = text;
}
