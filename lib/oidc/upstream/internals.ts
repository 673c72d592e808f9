/**
 * The one place that leans on what oidc-provider does not document. Each entry names what it relies on; `test/oidc/internals.test.ts` pins
 * every one, so that an upgrade that changes it fails there and not in production.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { decodeProtectedHeader } from 'jose';
import Provider, {
  type Client,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  type ResponseType,
  type Session,
  type TokenEndpointGrantContext,
} from 'oidc-provider';
import { confirm } from 'oidc-provider/lib/actions/end_session.js';
import { verify } from 'oidc-provider/lib/helpers/jwt.js';
import { get as insideOf } from 'oidc-provider/lib/helpers/weak_cache.js';
import { createId, createSessionId, createSessionUid, type TaggedKind } from '../artifacts/ids.js';

type Query = Record<string, string | string[] | undefined>;
type Payload = Record<string, unknown>;
type Names = string | readonly string[] | ReadonlySet<string>;

export interface ProviderHooks {
  /** Runs the handler of a grant type; what it throws becomes the token endpoint's error. */
  grant(name: string, ctx: KoaContextWithOIDC, handle: () => Promise<void>): Promise<void>;
  /** Sends an authorization response, success or error. */
  respond(
    mode: string,
    ctx: KoaContextWithOIDC,
    redirectUri: string,
    payload: Payload,
    send: (payload: Payload) => Promise<void>,
  ): Promise<void>;
  /** Parameters of an endpoint, before oidc-provider sees them. */
  parameters(route: string, parameters: Query): Query;
  /** Looks at a request before anything of it is processed; what it throws becomes the endpoint's error. */
  check(ctx: KoaContextWithOIDC): void;
  /** Looks at a token request once its client authenticated, before anything else about it; what it throws becomes the endpoint's error. */
  token(ctx: KoaContextWithOIDC): Promise<void>;
  /** The level of the session's sign-in. */
  acr(ctx: KoaContextWithOIDC): string | undefined;
  /** Audiences of client assertions. */
  readonly assertionAudiences: ReadonlySet<string>;
  /** Identity and API scopes that exist now. */
  scopes(ctx: KoaContextWithOIDC): ReadonlySet<string>;
  /** Of a grant's scopes, those that the request's client may still have. */
  held(ctx: KoaContextWithOIDC, scopes: readonly string[]): readonly string[];
  /** The value of an access token that is not opaque, and its id back; undefined when it is none of ours. */
  readonly structuredToken: {
    sign(token: AccessTokenModel): undefined | Promise<string | undefined>;
    idOf(value: string): Promise<string | undefined>;
  };
  /** The id of the refresh token that follows another. */
  successorOf(refreshToken: string): string;
  interactions: {
    /** The browser that an interaction is bound to, when this response begins it. */
    browserOf(ctx: KoaContextWithOIDC): string;
    /** Whether the request may take up this interaction. */
    mayResume(ctx: KoaContextWithOIDC, interaction: BoundInteraction): Promise<boolean>;
  };
  clients: {
    /** The record a client was built from; a new object when it changed. */
    record(id: string): object | undefined | Promise<object | undefined>;
    compareSecret(client: Client, secret: string): boolean;
    /** The key set at a `jwks_uri`; `freshUntil` in milliseconds since the epoch. */
    keysAt(uri: string): Promise<{ readonly keys: readonly object[]; readonly freshUntil: number }>;
    /** Whether implicit clients may be sent to this machine by http. */
    readonly mayBeLocal: boolean;
  };
  /** Where the client's address comes from. */
  addressOf(req: IncomingMessage): string;
}

/** An interaction and the browser that it is bound to. */
export interface BoundInteraction {
  readonly uid: string;
  readonly browser?: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly result?: object;
}

/** What the hooks need of an access token or a client credentials token. */
export interface AccessTokenModel {
  readonly kind: 'AccessToken' | 'ClientCredentials';
  readonly jti: string;
  readonly clientId: string;
  readonly accountId?: string;
  readonly grantId?: string;
  readonly scope?: string;
  readonly iat?: number;
  readonly exp?: number;
  readonly sid?: string;
  readonly jkt?: string;
  readonly 'x5t#S256'?: string;
  /** The resource that it was asked for. @see RFC 8707 §2.2 */
  readonly aud?: string | readonly string[];
  readonly resourceServer?: { readonly accessTokenTTL?: number; readonly accessTokenFormat?: 'opaque' | 'jwt' };
  extra?: Record<string, unknown>;
}

/** Fields of our own that oidc-provider keeps on its records. Read once per class, on first use: models/payload.js. */
const extraMembers = {
  Session: ['sub', 'idp', 'act', 'grants'],
  Grant: ['login', 'sid'],
  Interaction: ['browser'],
  AccessToken: ['structured'],
  ClientCredentials: ['structured'],
} as const;

/** An oidc-provider whose extension points are ours. */
export function createHookedProvider(issuer: string, configuration: Configuration, hooks: ProviderHooks): Provider {
  class HookedProvider extends Provider {
    // Called from the constructor of Provider, for the modes and grants it brings.
    override registerResponseMode(name: string, handler: Parameters<Provider['registerResponseMode']>[1]): void {
      super.registerResponseMode(name, (ctx, redirectUri, payload) => {
        // response_modes/jwt.js takes them for granted.
        (ctx.oidc as unknown as { assume(params: Payload): void }).assume(ctx.query);
        return hooks.respond(name, ctx, redirectUri, payload, async (out) => handler.call(this, ctx, redirectUri, out));
      });
    }

    override registerGrantType<Params extends object>(
      name: string,
      handler: (ctx: TokenEndpointGrantContext<Params>) => Promise<void> | void,
      ...rest: Names[]
    ): void {
      super.registerGrantType<Params>(name, (ctx) => hooks.grant(name, ctx, async () => handler(ctx)), ...rest);
      insertTokenStep(this, hooks);
    }
  }
  override(HookedProvider, 'OIDCContext', (Base) => contextClass(Base, hooks));
  override(HookedProvider, 'Session', sessionClass);
  override(HookedProvider, 'Interaction', (Base) => interactionClass(Base, hooks));
  override(HookedProvider, 'AccessToken', (Base) => accessTokenClass(Base, hooks));
  override(HookedProvider, 'ClientCredentials', (Base) => accessTokenClass(Base, hooks));

  const provider = new HookedProvider(issuer, configuration);
  pinUrlsToIssuer(provider, hooks);
  for (const kind of [
    'Grant',
    'AuthorizationCode',
    'PushedAuthorizationRequest',
    'AccessToken',
    'ClientCredentials',
    'RefreshToken',
  ] as const) {
    Object.assign(provider[kind].prototype, {
      generateTokenId(this: { grantId?: string; format?: string }) {
        this.format = 'opaque';
        return mintId(kind, this, hooks);
      },
    });
  }
  for (const kind of ['Grant', 'AuthorizationCode', 'PushedAuthorizationRequest', 'RefreshToken', 'Session'] as const)
    Object.assign(provider[kind].prototype, { getValueAndPayload: valueAndPayload });
  Object.defineProperty(provider.Grant, 'IN_PAYLOAD', { value: [...membersOf(provider.Grant), ...extraMembers.Grant] });
  customiseClient(provider, hooks);
  narrowGrants(provider, hooks);
  allowTokenAlone(provider);
  refuseForeignHints(provider);
  return provider;
}

type Step = (ctx: never, next: () => Promise<void>) => unknown;

const stepped = new WeakSet<object>();

/**
 * Adds a step to the token endpoint, after the one that authenticates the client. The constructor of Provider registers grants before it
 * registers routes, by the router's `post`: helpers/initialize_app.js, actions/token.js.
 */
function insertTokenStep(provider: Provider, hooks: ProviderHooks): void {
  const { router } = insideOf(provider);
  if (stepped.has(router)) return;
  stepped.add(router);
  const { post } = router;
  const step = async (ctx: KoaContextWithOIDC, next: () => Promise<void>): Promise<void> => {
    await hooks.token(ctx);
    await next();
  };
  router.post = function (name: string, path: string, ...steps: Step[]) {
    if (name !== 'token') return post.call(this, name, path, ...steps);
    const at = steps.findIndex((each) => each.name === 'authenticateClient');
    if (at < 0) throw new TypeError('The token endpoint authenticates its clients in another way than this was written for.');
    return post.call(this, name, path, ...steps.toSpliced(at + 1, 0, step));
  };
}

interface PayloadModel {
  readonly jti: string;
  readonly iat?: number;
  readonly exp?: number;
  readonly expiration?: number;
  readonly [member: string]: unknown;
}

/** What `getValueAndPayload` of models/formats/opaque.js answers, without a property descriptor for each member. */
async function valueAndPayload(this: PayloadModel): Promise<{ value: string; payload: Payload }> {
  const now = Math.floor(Date.now() / 1000);
  const payload: Payload = { iat: this.iat || now };
  const exp = this.exp || now + (this.expiration ?? Number.NaN);
  if (exp) payload.exp = exp;
  for (const name of inPayload(this.constructor)) if (this[name] !== undefined) payload[name] = this[name];
  return { value: this.jti, payload };
}

/** Ends the session of an end-session request, as if the user had confirmed. The last step of `confirm` in actions/end_session.js. */
export async function endSessionUnasked(ctx: KoaContextWithOIDC): Promise<void> {
  (ctx.oidc as { params: unknown }).params = { logout: 'yes' };
  await (confirm.at(-1) as (ctx: KoaContextWithOIDC) => Promise<void>)(ctx);
}

/**
 * Changes the parameters once those in the request object have taken the place of those beside it, before anything reads them. The last that
 * actions/authorization/process_request_object.js does, in one go, begins with taking `request` away.
 */
export const onceTaken = (ctx: KoaContextWithOIDC, rewrite: (params: Payload) => void): void =>
  (ctx.oidc as unknown as { onceTaken(rewrite: (params: Payload) => void): void }).onceTaken(rewrite);

/** A logout token, signed and encrypted as the client's ID tokens are. What `Client.prototype.backchannelLogout` sends, with a `sub` that is known. */
export async function logoutToken(provider: Provider, client: Client, { sub, sid }: { sub: string; sid: string }): Promise<string> {
  const token = new provider.IdToken({}, { client, ctx: undefined } as never) as unknown as {
    set(claim: string, value: unknown): void;
    issue(options: { use: 'logout' }): Promise<string>;
  };
  const claims = { sub, sid, jti: randomUUID(), events: { 'http://schemas.openid.net/event/backchannel-logout': {} } };
  for (const [claim, value] of Object.entries(claims)) token.set(claim, value);
  return token.issue({ use: 'logout' });
}

/** Listens to the response of the authorization endpoint; what is added to `out` is sent. The second argument of `authorization.success`. */
export const onAuthorizationResponse = (provider: Provider, add: (ctx: KoaContextWithOIDC, out: Payload) => void): void => {
  (provider as unknown as { on(event: string, listener: (ctx: KoaContextWithOIDC, out?: Payload) => void): void }).on(
    'authorization.success',
    (ctx, out) => out && add(ctx, out),
  );
};

type Class = {
  // biome-ignore lint/suspicious/noExplicitAny: a mixin's base
  new (...args: any[]): any;
  // biome-ignore lint/suspicious/noExplicitAny: of whatever the class is
  find?(value: string, ...rest: unknown[]): Promise<any>;
};

/** Replaces a class that Provider makes lazily behind a getter of its prototype. */
function override(target: typeof Provider, name: string, make: (base: Class) => Class): void {
  const { get } = Object.getOwnPropertyDescriptor(Provider.prototype, name) as { get: () => Class };
  const made = new WeakMap<object, Class>();
  Object.defineProperty(target.prototype, name, {
    configurable: true,
    get(this: object) {
      const existing = made.get(this);
      if (existing !== undefined) return existing;
      const replaced = make(get.call(this));
      // oidc-provider names records after their class.
      Object.defineProperty(replaced, 'name', { value: name });
      made.set(this, replaced);
      return replaced;
    },
  });
}

const membersOf = (model: unknown): readonly string[] => (model as { IN_PAYLOAD: readonly string[] }).IN_PAYLOAD;

const payloads = new WeakMap<object, readonly string[]>();

/** The list is put together anew by each class of the chain, so it is asked for once. */
function inPayload(model: object): readonly string[] {
  const members = payloads.get(model) ?? membersOf(model);
  payloads.set(model, members);
  return members;
}

/** Parameters are rewritten before the first check reads them; API scopes count as known. */
function contextClass(Base: Class, hooks: ProviderHooks): Class {
  return class extends Base {
    #body: Query | undefined;
    #params: Payload | undefined;
    #rewrite: ((params: Payload) => void) | undefined;
    #scopes: { readonly asked: unknown; readonly known: Set<string> } | undefined;

    constructor(ctx: KoaContextWithOIDC) {
      super(ctx);
      const takesQuery = this.route === 'authorization' || this.route === 'userinfo';
      const query = this.route === 'resume' ? {} : takesQuery && ctx.method !== 'POST' ? ctx.query : undefined;
      // Resuming takes no parameters: an error of it must not be answered by those of a query.
      if (query) Object.defineProperty(ctx, 'query', { configurable: true, value: hooks.parameters(this.route, query) });
    }

    /** Those of the request's context, which `provider.createContext` made too: a second one would be made for them alone. */
    get cookies(): unknown {
      return (this.ctx as KoaContextWithOIDC).cookies;
    }

    get body(): Query | undefined {
      return this.#body;
    }
    set body(body: Query | undefined) {
      this.#body = body && hooks.parameters(this.route, body);
    }

    get params(): Payload | undefined {
      const rewrite = this.#rewrite;
      if (rewrite && this.#params && this.#params.request === undefined) {
        this.#rewrite = undefined;
        rewrite(this.#params);
      }
      return this.#params;
    }
    /** The first step of an endpoint whose errors are answered. */
    set params(params: Payload) {
      this.#params = params;
      hooks.check(this.ctx);
    }

    /** An error may come before the parameters are put together, and be answered by the query all the same. */
    assume(params: Payload): void {
      this.#params ??= params;
    }

    onceTaken(rewrite: (params: Payload) => void): void {
      this.#rewrite = rewrite;
    }

    /** Many ask, and none changes it. */
    get requestParamOIDCScopes(): Set<string> {
      const asked: unknown = this.params?.scope;
      if (this.#scopes?.asked !== asked) {
        const known = hooks.scopes(this.ctx);
        this.#scopes = { asked, known: new Set([...(this.requestParamScopes as Set<string>)].filter((scope) => known.has(scope))) };
      }
      return this.#scopes?.known ?? new Set();
    }

    urlFor(name: string, options?: object): string {
      return this.provider.urlFor(name, options);
    }

    /** Read where codes and ID tokens are made, and to check what was asked for: only then it is looked for. */
    get acr(): string | undefined {
      const asked = (this.claims as { id_token?: { acr?: unknown } } | undefined)?.id_token?.acr;
      return super.acr ?? (asked === undefined ? undefined : hooks.acr(this.ctx));
    }

    /** Never the URL that was asked. */
    clientJwtAuthExpectedAudience(): Set<string> {
      return new Set(hooks.assertionAudiences);
    }
  };
}

/** Sessions are kept under their uid; the cookie carries a secret beside it that changes with every authentication. */
function sessionClass(Base: Class): Class {
  return class Session extends Base {
    constructor(payload?: { uid?: string; jti?: string }) {
      super(payload);
      if (!payload?.uid) this.uid = createSessionUid();
      if (!payload?.jti) this.jti = createSessionId(this.uid);
    }

    static get IN_PAYLOAD(): readonly string[] {
      return [...membersOf(Base), ...extraMembers.Session];
    }

    resetIdentifier(): void {
      this.jti = createSessionId(this.uid);
      this.touched = true;
    }
  };
}

/** An interaction belongs to the browser that it began in; actions/authorization/resume.js takes the word of a cookie for which one it is. */
function interactionClass(Base: Class, hooks: ProviderHooks): Class {
  return class extends Base {
    constructor(uid: string, payload?: object) {
      super(uid, payload);
      if (payload !== undefined) this.browser = hooks.interactions.browserOf(Provider.ctx as KoaContextWithOIDC);
    }

    static get IN_PAYLOAD(): readonly string[] {
      return [...membersOf(Base), ...extraMembers.Interaction];
    }

    static override async find(uid: string, ...rest: unknown[]): Promise<BoundInteraction | undefined> {
      const ctx = Provider.ctx;
      // biome-ignore lint/complexity/noThisInStatic: the base's own find, on this class
      const interaction: BoundInteraction | undefined = await super.find?.(uid, ...rest);
      if (!interaction || ctx?.oidc.route !== 'resume') return interaction;
      try {
        return (await hooks.interactions.mayResume(ctx, interaction)) ? interaction : undefined;
      } catch (error) {
        // The failure is the application's to know: shared/authorization_error_handler.js looks here for where to tell it.
        Object.assign(ctx.oidc, { params: interaction.params });
        throw error;
      }
    }
  };
}

/** Signed access tokens are recorded like opaque ones: they can be introspected, revoked and used at userinfo. */
function accessTokenClass(Base: Class, hooks: ProviderHooks): Class {
  return class extends Base {
    static get IN_PAYLOAD(): readonly string[] {
      return [...membersOf(Base), ...extraMembers.AccessToken];
    }

    async getValueAndPayload(): Promise<{ value: string; payload?: Payload }> {
      const { value, payload } = await super.getValueAndPayload();
      const signing = hooks.structuredToken.sign(Object.assign(this, payload) as unknown as AccessTokenModel);
      const signed = signing && (await signing);
      return signed === undefined ? { value, payload } : { value: signed, payload: { ...payload, structured: true } };
    }

    /** The id of a signed token is public (its `jti`): by itself it finds nothing. */
    static override async find(value: string, ...rest: unknown[]): Promise<{ structured?: boolean } | undefined> {
      const id =
        typeof value === 'string' && (value.includes('.') || value.includes('~')) ? await hooks.structuredToken.idOf(value) : value;
      // biome-ignore lint/complexity/noThisInStatic: the base's own find, on this class
      const token: { structured?: boolean } | undefined = id === undefined ? undefined : await super.find?.(id, ...rest);
      return token && (token.structured === true) === (id !== value) ? token : undefined;
    }
  };
}

function mintId(kind: TaggedKind, model: { grantId?: string }, hooks: ProviderHooks): string {
  const ctx = Provider.ctx;
  if (kind === 'RefreshToken' && ctx?.oidc.entities.RotatedRefreshToken)
    return hooks.successorOf(ctx.oidc.entities.RotatedRefreshToken.jti);
  // Pairwise clients could compare their tokens by the slot they share, and so their users.
  if (kind === 'Grant') return createId(kind, ctx?.oidc.client && isPairwise(ctx.oidc.client) ? undefined : ctx?.oidc.session?.uid);
  return createId(kind, model.grantId);
}

/** Whatever `Host` or a forwarded header says, URLs and the cookies' `Secure` follow the issuer. */
function pinUrlsToIssuer(provider: Provider, hooks: ProviderHooks): void {
  const { protocol, host, hostname, origin } = new URL(provider.issuer);
  const fixed = { protocol: protocol.slice(0, -1), secure: protocol === 'https:', host, hostname, origin };
  for (const [name, value] of Object.entries(fixed)) Object.defineProperty(provider.request, name, { get: () => value });
  Object.defineProperty(provider.request, 'href', {
    get(this: { originalUrl: string }) {
      return provider.issuer + (this.originalUrl.startsWith('/') ? this.originalUrl : '/');
    },
  });
  Object.defineProperty(provider.request, 'ip', {
    get(this: { req: IncomingMessage }) {
      return hooks.addressOf(this.req);
    },
  });
}

const records = new WeakMap<Client, object>();

/** The record that a client was built from. */
export const recordOf = (client: Client): object | undefined => records.get(client);

/** What was registered, before every client became pairwise to oidc-provider. */
export const isPairwise = (client: Client): boolean => (client as { declaredSubjectType?: unknown }).declaredSubjectType === 'pairwise';

/** Writes the session into the unit of work now, not after the response, where shared/session.js would do it. */
export async function saveSession(ctx: KoaContextWithOIDC, ttl: number): Promise<void> {
  const session = ctx.oidc.session as (Session & { new?: boolean; touched?: boolean; destroyed?: boolean }) | undefined;
  if (!session || session.destroyed || (session.new && !session.touched)) return;
  await session.save(ttl);
  // Saving takes the mark off that makes shared/session.js set the cookie of a new session.
  session.touched = true;
  const { jti } = session;
  Object.defineProperty(session, 'save', { value: async () => jti });
}

/**
 * An ID token has `sub` and `sid`, and no `typ`. Every other JWT we mint has a `typ`, but for signed userinfo, which has no `sid`, and signed
 * authorization responses, in which anybody can place what they like, but for `sub`: none is an `id_token_hint`. @see RFC 8725 §3.11
 */
function refuseForeignHints(provider: Provider): void {
  const model = provider.IdToken as unknown as HintModel;
  const validate = model.validate.bind(model);
  model.validate = async (jwt, client) => {
    const { typ } = decodeProtectedHeader(jwt);
    if (typ !== undefined && typ !== 'JWT') throw new TypeError('not an ID token');
    const token = await validate(jwt, client);
    const { sub, sid } = token.payload;
    if (typeof sub !== 'string' || typeof sid !== 'string') throw new TypeError('not an ID token');
    return token;
  };
}

/** The claims of the request's `id_token_hint`; on the way back from the pages, where checkIdTokenHint does not run, as well. */
export async function idTokenHint(ctx: KoaContextWithOIDC): Promise<Payload | undefined> {
  const { entities, params, client, provider } = ctx.oidc;
  if (entities.IdTokenHint || typeof params?.id_token_hint !== 'string' || !client) return entities.IdTokenHint?.payload;
  const hint = await (provider.IdToken as unknown as HintModel).validate(params.id_token_hint, client);
  ctx.oidc.entity('IdTokenHint', hint as never);
  return hint.payload;
}

interface HintModel {
  validate(jwt: string, client: Client): Promise<{ payload: { sub?: unknown; sid?: unknown } }>;
}

/** The claims of a JWT that a client signed with a key of its `jwks` or `jwks_uri`, times checked. helpers/jwt.js, Client.asymmetricKeyStore */
export async function verifiedByClient(client: Client, jwt: string, clockTolerance: number): Promise<Payload> {
  const { asymmetricKeyStore } = client as unknown as { asymmetricKeyStore: object };
  return (await verify(jwt, asymmetricKeyStore, { clockTolerance })).payload;
}

/** Response type `token`: the constructor refuses it; its handler is still there, in helpers/process_response_types.js. */
function allowTokenAlone(provider: Provider): void {
  const { responseTypes } = insideOf(provider).configuration;
  if (responseTypes.includes('id_token token')) responseTypes.push('token');
}

/** An authorization response as one JWT, as response_modes/jwt.js makes it. @see JARM §2.1 */
export function signedResponse(ctx: KoaContextWithOIDC, payload: Payload): Promise<string> {
  const { IdToken } = ctx.oidc.provider as unknown as { IdToken: ResponseJwt };
  // By itself it leaves out names that helpers/_/merge.js does not copy.
  return Object.assign(new IdToken({}, { ctx }), { payload: async () => ({ ...payload }) }).issue({ use: 'authorization' });
}

type ResponseJwt = new (claims: object, context: { ctx: KoaContextWithOIDC }) => { issue(options: { use: string }): Promise<string> };

/** A grant gives no more than its client may have by now. The scope of every token, and the claims of userinfo, are asked for here. */
function narrowGrants({ Grant }: Provider, hooks: ProviderHooks): void {
  const { getOIDCScopeFiltered, getResourceScopeFiltered } = Grant.prototype;
  const narrowed = (granted: string): string => {
    const ctx = Provider.ctx;
    return ctx?.oidc.client ? hooks.held(ctx, granted.split(' ')).join(' ') : granted;
  };
  Grant.prototype.getOIDCScopeFiltered = function (filter) {
    return narrowed(getOIDCScopeFiltered.call(this, filter));
  };
  Grant.prototype.getResourceScopeFiltered = function (resource, filter) {
    return narrowed(getResourceScopeFiltered.call(this, resource, filter));
  };
}

const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);
const localCodes = new Set(['implicit-force-https', 'implicit-forbid-localhost']);

/** Where development happens; all http URIs of the client have to be there. `invalidate` of helpers/client_schema.js, and its codes. */
function allowLocalClients(Client: unknown): void {
  const { prototype } = (Client as { Schema: { prototype: ClientSchema } }).Schema;
  const { invalidate } = prototype;
  prototype.invalidate = function (message, code) {
    const isLocal = (uri: string): boolean => {
      const { protocol, hostname } = new URL(uri);
      return protocol === 'https:' || loopback.has(hostname);
    };
    const uris = () => [...(this.redirect_uris ?? []), ...(this.post_logout_redirect_uris ?? [])];
    if (code === undefined || !localCodes.has(code) || !uris().every(isLocal)) invalidate.call(this, message, code);
  };
}

/** Members of the ClientKeyStore of models/client.js, whose own refresh would let a set that is no good displace the last one that was. */
interface ClientKeyStore {
  readonly jwksUri: string | undefined;
  /** Seconds since the epoch. */
  freshUntil?: number;
  fresh(): boolean;
  clear(): void;
  add(key: object): void;
  refresh(): Promise<void>;
}

function readKeysBy(keysAt: ProviderHooks['clients']['keysAt'], client: Client): void {
  const store = (client as unknown as { asymmetricKeyStore: ClientKeyStore }).asymmetricKeyStore;
  const { jwksUri } = store;
  if (jwksUri === undefined) return;
  store.refresh = async () => {
    if (store.fresh()) return;
    const { keys, freshUntil } = await keysAt(jwksUri).catch((cause) => {
      throw new errors.InvalidClientMetadata('client JSON Web Key Set failed to be refreshed', { cause });
    });
    store.clear();
    for (const key of keys) store.add({ ...key });
    store.freshUntil = Math.max(freshUntil, Date.now()) / 1000 + 1;
  };
}

interface ClientSchema {
  readonly redirect_uris?: readonly string[];
  readonly post_logout_redirect_uris?: readonly string[];
  invalidate(this: ClientSchema, message: string, code?: string): void;
}

function customiseClient(provider: Provider, hooks: ProviderHooks): void {
  const { Client } = provider;
  // `sub` goes through `pairwiseIdentifier` for every client, so that one hook answers it; what was registered is kept beside it.
  Object.defineProperty(Client.prototype, 'subjectType', {
    get: () => 'pairwise',
    set(this: object, value: unknown) {
      Object.defineProperty(this, 'declaredSubjectType', { value, configurable: true });
    },
  });
  const { grantTypeAllowed, responseTypeAllowed } = Client.prototype;
  if (hooks.clients.mayBeLocal) allowLocalClients(Client);
  Object.assign(Client.prototype, {
    includeSid: () => true,
    /** oidc-provider calls it a malformed request. @see RFC 6749 §5.2, `unauthorized_client` */
    grantTypeAllowed(this: Client, grantType: string) {
      const isAllowed = grantTypeAllowed.call(this, grantType);
      const { route, params } = Provider.ctx?.oidc ?? {};
      if (!isAllowed && route === 'token' && params?.grant_type === grantType)
        throw new errors.UnauthorizedClient('requested grant type is not allowed for this client');
      return isAllowed;
    },
    /** As {@link grantTypeAllowed}. @see RFC 6749 §4.1.2.1, §4.2.2.1 */
    responseTypeAllowed(this: Client, responseType: ResponseType) {
      if (!responseTypeAllowed.call(this, responseType))
        throw new errors.UnauthorizedClient('requested response_type is not allowed for this client');
      return true;
    },
    // Clients are told through the queue of deliveries; actions/end_session.js would wait for each.
    backchannelLogout: async () => {},
    compareClientSecret(this: Client, secret: string) {
      return hooks.clients.compareSecret(this, secret);
    },
  });
  // Client.find parses and hashes the metadata of each request and remembers 100 clients; ours is built once for each version of its record.
  const find = Client.find.bind(Client);
  const built = new WeakMap<object, Promise<Client | undefined>>();
  const build = (id: string, record: object): Promise<Client | undefined> => {
    const building = find(id);
    built.set(record, building);
    building.then(
      (client) => {
        if (!client) return;
        records.set(client, record);
        readKeysBy(hooks.clients.keysAt, client);
      },
      () => built.delete(record),
    );
    return building;
  };
  const clientOf = (id: string, record: object | undefined): Promise<Client | undefined> =>
    record ? (built.get(record) ?? build(id, record)) : Promise.resolve(undefined);
  Client.find = (id: string) => {
    const record = typeof id === 'string' && id ? hooks.clients.record(id) : undefined;
    return record instanceof Promise ? record.then((found) => clientOf(id, found)) : clientOf(id, record);
  };
}
