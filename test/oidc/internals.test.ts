/**
 * Pins what `lib/oidc/upstream/internals.ts` relies on in oidc-provider and what its documentation does not promise. A failure here after an upgrade
 * names the entry to look at; the other tests say whether it still works.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import Provider, { type Configuration } from 'oidc-provider';
import { confirm } from 'oidc-provider/lib/actions/end_session.js';
import { get as insideOf } from 'oidc-provider/lib/helpers/weak_cache.js';
import { createHookedProvider, isPairwise, logoutToken, type ProviderHooks, recordOf } from '../../lib/oidc/upstream/internals.js';
import { testKeys } from '../support/keys.js';
import { useIdp } from '../support/use-idp.js';

// biome-ignore lint/suspicious/noExplicitAny: what no type declares is what is pinned
type Untyped = any;

const require = createRequire(import.meta.url);
const source = (file: string): string => readFileSync(require.resolve(`oidc-provider/lib/${file}`), 'utf8');
/** The pieces occur in a file of oidc-provider, in this order. */
function expectInOrder(file: string, ...pieces: readonly string[]): void {
  const text = source(file);
  let from = 0;
  for (const piece of pieces) {
    const at = text.indexOf(piece, from);
    expect({ file, piece, found: at >= 0 }).toEqual({ file, piece, found: true });
    from = at + piece.length;
  }
}

const issuer = 'https://op.example';
const records = new Map<string, object>([
  ['public', { version: 1 }],
  ['sector', { version: 1 }],
  ['keys', { version: 1 }],
]);
const configuration = (): Configuration => ({
  jwks: { keys: testKeys.map((key) => ({ ...key })) as never },
  cookies: { keys: ['x'] },
  scopes: ['openid', 'offline_access'],
  subjectTypes: ['public', 'pairwise'],
  pairwiseIdentifier: async (_ctx, oid) => oid,
  features: { devInteractions: { enabled: false }, clientCredentials: { enabled: true }, introspection: { enabled: true } },
  clients: [
    { client_id: 'public', client_secret: 's', redirect_uris: ['https://rp.example/cb'] },
    { client_id: 'sector', client_secret: 's', redirect_uris: ['https://rp.example/cb'], subject_type: 'pairwise' },
    { client_id: 'keys', client_secret: 's', redirect_uris: ['https://rp.example/cb'], jwks_uri: 'https://rp.example/jwks' },
  ],
});
let keysThere: object[] = [];
const hooks: ProviderHooks = {
  grant: (_name, _ctx, handle) => handle(),
  respond: (_mode, _ctx, _uri, payload, send) => send(payload),
  parameters: (_route, parameters) => parameters,
  check: () => {},
  token: async () => {},
  assertionAudiences: new Set([issuer]),
  scopes: () => new Set(['openid', 'orders.read']),
  held: (_ctx, scopes) => scopes,
  structuredToken: { sign: async () => undefined, idOf: async () => undefined },
  successorOf: (token) => `${token} next`,
  interactions: { browserOf: () => 'browser', mayResume: async (_ctx, { browser }) => browser === 'browser' },
  clients: {
    record: async (id) => records.get(id),
    compareSecret: (_client, secret) => secret === 'right',
    keysAt: async () => ({ keys: keysThere, freshUntil: Date.now() + 60_000 }),
    mayBeLocal: true,
  },
  acr: () => undefined,
  addressOf: () => '192.0.2.1',
};
const bare: Untyped = new Provider(issuer, configuration());
const hooked: Untyped = createHookedProvider(issuer, configuration(), hooks);

test('oidc-provider is the version that this was written for', () => {
  expect(require('oidc-provider/package.json').version).toMatch(/^9\.13\./);
});

describe('registerResponseMode, registerGrantType', () => {
  test('the constructor of Provider registers its own modes and grants by calling them on `this`', () => {
    const called = new Set<string>();
    class Watching extends Provider {
      override registerResponseMode(...args: Parameters<Provider['registerResponseMode']>): void {
        called.add(args[0]);
        super.registerResponseMode(...args);
      }
      override registerGrantType(...args: Untyped[]): void {
        called.add(args[0]);
        (super.registerGrantType as Untyped)(...args);
      }
    }
    new Watching(issuer, configuration());
    for (const name of ['query', 'fragment', 'form_post', 'authorization_code', 'refresh_token', 'client_credentials'])
      expect([...called]).toContain(name);
  });

  test('a response mode handler gets context, URI and payload; a grant handler the context', () => {
    expectInOrder('actions/authorization/respond.js', 'await handler(ctx, params.redirect_uri, ');
    expectInOrder('shared/authorization_error_handler.js', 'await handler(ctx, safe(params.redirect_uri), ');
    expectInOrder('actions/token.js', 'grantTypeHandlers', '(ctx');
  });

  test('an error may be answered by the query, which a signed response does not look at', () => {
    expectInOrder('shared/authorization_error_handler.js', 'oidc.body : ctx.query) || {} } = oidc', 'await handler(ctx');
    expectInOrder('response_modes/jwt.js', 'const { params } = ctx.oidc', 'params.response_mode');
    expect(source('actions/authorization/resume.js')).not.toContain('query');
  });
});

test('the token endpoint is registered by `router.post` after the grants; a step of its own name authenticates the client', () => {
  expectInOrder(
    'helpers/initialize_app.js',
    'instance(this).router = router',
    'router.post(name, route',
    'this.registerGrantType(',
    "post('token', ",
  );
  expectInOrder('shared/client_auth.js', 'async function authenticateClient(ctx, next)', 'await next();\n}\n\nexport default');
  expectInOrder('actions/token.js', '...clientAuth,', 'rejectDupes.bind(undefined, { only: grantTypeSet })', 'stripGrantIrrelevantParams');
});

describe('classes behind getters', () => {
  test.each(['OIDCContext', 'Session', 'Interaction', 'AccessToken', 'ClientCredentials'])(
    '%s is made on first use by a getter of the prototype, and kept',
    (name) => {
      const { get, set } = Object.getOwnPropertyDescriptor(Provider.prototype, name) ?? {};
      expect(get).toEqual(expect.any(Function));
      expect(set).toBeUndefined();
      expect(bare[name]).toBe(bare[name]);
      expect(Object.hasOwn(bare, name)).toBe(false);
      expect(Object.getPrototypeOf(hooked[name]).toString()).toMatch(/^class/);
      expect(hooked[name].name).toBe(name);
    },
  );

  test('oidc-provider itself takes them from the getters', () => {
    expectInOrder('helpers/initialize_app.js', 'new this.OIDCContext(ctx)');
    expectInOrder('shared/session.js', 'ctx.oidc.provider.Session.get(ctx)');
    expectInOrder('helpers/grant_common.js', 'new provider.AccessToken(');
    expectInOrder('actions/authorization/interactions.js', 'new oidc.provider.Interaction(uid, {', 'interactionSession.save(ttl)');
  });
});

test('the scope of every token, and the claims of userinfo, are what `getOIDCScopeFiltered` answers', () => {
  expectInOrder('helpers/grant_common.js', 'grant.getOIDCScopeFiltered(');
  expectInOrder('helpers/grant_authorization.js', 'token.scope = grant.getOIDCScopeFiltered(');
  expectInOrder('actions/grants/refresh_token.js', 'at.scope = grant.getOIDCScopeFiltered(');
  expectInOrder('helpers/process_response_types.js', 'token.scope = grant.getOIDCScopeFiltered(', 'ctx.oidc.grant.getOIDCScopeFiltered(');
  expectInOrder('actions/userinfo.js', 'ctx.oidc.grant.getOIDCScopeFiltered(');
  // Before there is a client, and outside of requests, there is nothing to hold it to.
  const grant = new hooked.Grant({ clientId: 'public', accountId: 'x' });
  grant.addOIDCScope('openid other');
  expect(grant.getOIDCScopeFiltered(new Set(['openid', 'other']))).toBe('openid other');
});

describe('Interaction', () => {
  test('one that begins gets two arguments, one that is found gets its record alone', () => {
    expectInOrder('models/interaction.js', 'constructor(jti, payload)', 'if (payload !== undefined)', 'super(jti)');
    expectInOrder('models/base_model.js', 'return new this(payload)');
    const record = { jti: 'uid', kind: 'Interaction', browser: 'another' };
    expect(new hooked.Interaction(record)).toMatchObject({ uid: 'uid', browser: 'another' });
    expect(new hooked.Interaction('uid', {})).toMatchObject({ uid: 'uid', browser: 'browser' });
  });

  test('resuming finds it by the cookie, before it ends it or signs anybody in', () => {
    expectInOrder(
      'actions/authorization/resume.js',
      "ctx.oidc.provider.cookieName('resume')",
      'await ctx.oidc.provider.Interaction.find(cookieId)',
      'throw new errors.SessionNotFound(',
      'await interactionSession.destroy()',
      'session.loginAccount(',
    );
    expectInOrder('helpers/initialize_app.js', 'resume', ':uid');
  });

  test('its uid is 43 characters of the URL alphabet', () => {
    expectInOrder('actions/authorization/interactions.js', 'const uid = nanoid()');
    expectInOrder('helpers/nanoid.js', 'customAlphabet(urlAlphabet, 43)');
  });
});

describe('OIDCContext', () => {
  test('its constructor sets the route, and parameters are read from ctx.query and oidc.body afterwards', () => {
    expectInOrder('helpers/oidc_context.js', 'constructor(ctx)', 'this.route = ctx._matchedRouteName');
    expectInOrder('shared/assemble_params.js', "ctx.method === 'POST' ? ctx.oidc.body : ctx.query");
    expect(source('shared/selective_body.js').match(/ctx\.oidc\.body = /g)?.length).toBeGreaterThanOrEqual(4);
    expect(Object.hasOwn(bare.OIDCContext.prototype, 'body')).toBe(false);
  });

  test('scopes, URLs and audiences are members that a subclass replaces', () => {
    const members = Object.getOwnPropertyDescriptors(bare.OIDCContext.prototype) as Record<string, PropertyDescriptor>;
    expect(members.requestParamOIDCScopes?.get).toEqual(expect.any(Function));
    expect(members.requestParamScopes?.get).toEqual(expect.any(Function));
    expect(members.urlFor?.value).toEqual(expect.any(Function));
    expect(members.clientJwtAuthExpectedAudience?.value).toEqual(expect.any(Function));
    expectInOrder('shared/jwt_client_auth.js', 'ctx.oidc.clientJwtAuthExpectedAudience()');
  });

  test('its cookies are those of a context that createContext makes of the same request', () => {
    expectInOrder(
      'helpers/oidc_context.js',
      'get cookies()',
      'provider.createContext(this.ctx.req, this.ctx.res).cookies',
      'this.ctx.secure',
    );
    expectInOrder('models/session.js', 'ctx.oidc.cookies', 'provider.createContext(ctx.req, ctx.res).cookies');
  });

  test('parameters are assembled where errors are answered, and before a client authenticates', () => {
    expect(Object.hasOwn(bare.OIDCContext.prototype, 'params')).toBe(false);
    expect(source('helpers/oidc_context.js')).not.toContain('this.params =');
    expectInOrder('shared/assemble_params.js', 'ctx.oidc.params = new Params(');
    expectInOrder('helpers/initialize_app.js', "post('token', routes.token, error('grant.error')");
    expectInOrder('actions/token.js', 'assembleTokenParams', '...clientAuth');
    expectInOrder('actions/introspection.js', 'paramsMiddleware', '...clientAuth');
    expectInOrder('actions/revocation.js', 'paramsMiddleware', '...clientAuth');
    expectInOrder('actions/authorization/index.js', 'use(assembleClientAuthParams,', 'use(clientAuthMiddlware,');
  });

  test('parameters of a request object take their place in one go, which begins with `request` taken away', () => {
    expectInOrder(
      'actions/authorization/process_request_object.js',
      'const { params, client, route } = ctx.oidc',
      'await features.requestObjects.assertJwtClaimsAndHeader(',
      'await JWT.verify(params.request',
      'params.request = undefined;',
      'Object.keys(params).forEach((key) => {',
      'return next();',
    );
    const [, after = ''] = source('actions/authorization/process_request_object.js').split('params.request = undefined;');
    expect(after.slice(0, after.indexOf('return next();'))).not.toMatch(/await|oidc\.params/);
    const context: Untyped = new hooked.OIDCContext({ req: {}, method: 'GET', query: {} });
    context.params = { request: 'x', state: 'beside' };
    context.onceTaken((params: Untyped) => Object.assign(params, { state: `${params.state}, rewritten` }));
    expect(context.params.state).toBe('beside');
    Object.assign(context.params, { request: undefined, state: 'inside' });
    expect([context.params.state, context.params.state]).toEqual(['inside, rewritten', 'inside, rewritten']);
  });

  test('the token endpoint asks the client whether it may use the grant type, once it authenticated', () => {
    expectInOrder('actions/token.js', '...clientAuth', 'ctx.oidc.client.grantTypeAllowed(ctx.oidc.params.grant_type)');
  });

  test('urlFor of the provider follows the issuer, of the context the request; ours always the issuer', () => {
    expect(bare.urlFor('token')).toBe(`${issuer}/token`);
    expectInOrder('helpers/oidc_context.js', 'urlFor(name, opt)', 'this.ctx.href');
    const ctx: Untyped = hooked.createContext(
      { headers: { host: 'evil.example' }, url: '/', method: 'GET', socket: {} } as never,
      {} as never,
    );
    expect(new hooked.OIDCContext(ctx).urlFor('token')).toBe(`${issuer}/token`);
    expect([...new hooked.OIDCContext(ctx).clientJwtAuthExpectedAudience()]).toEqual([issuer]);
  });
});

describe('records', () => {
  test('IN_PAYLOAD, a static getter, says what a record keeps', () => {
    for (const kind of ['Session', 'Grant', 'AccessToken', 'ClientCredentials'])
      expect(bare[kind].IN_PAYLOAD).toEqual(expect.arrayContaining(['iat', 'exp', 'jti', 'kind']));
    expect(new bare.Session({ idp: 'x', acr: 'y' })).not.toHaveProperty('idp');
    expect(new hooked.Session({ idp: 'x', acr: 'y', other: 'z' })).toMatchObject({ idp: 'x', acr: 'y' });
    expect(new hooked.Session({ other: 'z' })).not.toHaveProperty('other');
    expect(new hooked.Grant({ login: { sub: 's' }, other: 'z' })).toMatchObject({ login: { sub: 's' } });
    expect(new hooked.AccessToken({ structured: true })).toMatchObject({ structured: true });
  });

  test('their kind is the name of their class', () => {
    for (const kind of ['Session', 'Grant', 'AccessToken', 'ClientCredentials', 'RefreshToken'])
      expect(new hooked[kind]({}).kind).toBe(kind);
  });

  test.each([
    ['Grant', 'g'],
    ['AuthorizationCode', 'k'],
    ['PushedAuthorizationRequest', 'p'],
    ['AccessToken', 'a'],
    ['ClientCredentials', 'c'],
    ['RefreshToken', 'r'],
  ])('save asks generateTokenId for the id of a %s, and writes it as opaque', async (kind, tag) => {
    const record = new hooked[kind]({ accountId: 'x', clientId: 'public' });
    if (kind !== 'PushedAuthorizationRequest') record.expiresIn = 60;
    const value = await record.save(60);
    expect(value).toMatch(new RegExp(`^[\\w-]{11}${tag}[\\w-]{32}$`));
    expect(record).toMatchObject({ jti: value, format: 'opaque' });
    expect(await hooked[kind].find(value)).toMatchObject({ jti: value, kind });
  });

  test('tokens of one grant share its slot', () => {
    const grant = new hooked.Grant({ clientId: 'public', accountId: 'x' }).generateTokenId();
    expect(new hooked.AccessToken({ grantId: grant }).generateTokenId().slice(0, 11)).toBe(grant.slice(0, 11));
  });

  test.each(['Grant', 'AuthorizationCode', 'PushedAuthorizationRequest', 'RefreshToken', 'Session'])(
    'what is stored of a %s is what opaque.getValueAndPayload says',
    async (kind) => {
      const fields = {
        clientId: 'public',
        accountId: 'a',
        scope: 'openid',
        jti: 'x',
        exp: 4_000_000_000,
        grantId: 'g',
        nonce: undefined,
        unknown: 1,
      };
      const [ours, theirs] = await Promise.all(
        [hooked, bare].map(async (provider) => (await new provider[kind](fields).getValueAndPayload()).payload),
      );
      const { uid: _ours, ...our } = ours;
      const { uid: _theirs, ...their } = theirs;
      expect(our).toEqual(their);
      expect(our).toMatchObject({ kind, exp: 4_000_000_000 });
    },
  );

  test('an access token’s value and payload come from getValueAndPayload', () => {
    for (const kind of ['AccessToken', 'ClientCredentials']) expect(bare[kind].prototype.getValueAndPayload).toEqual(expect.any(Function));
    expectInOrder(
      'models/base_model.js',
      'const { value, payload } = await this.getValueAndPayload()',
      'this.adapter.upsert(this.jti, payload',
      'return value',
    );
    expectInOrder('models/base_model.js', 'static async find(value', 'this.adapter.find(value)');
  });

  test('Provider.ctx is the request being answered', () => {
    expect(Object.getOwnPropertyDescriptor(Provider, 'ctx')?.get).toEqual(expect.any(Function));
    expect(Provider.ctx).toBeUndefined();
  });

  test('a refresh token is rotated with its predecessor among the entities', () => {
    expectInOrder(
      'actions/grants/refresh_token.js',
      "ctx.oidc.entity('RotatedRefreshToken', refreshToken)",
      'refreshToken = new RefreshToken(',
      'await refreshToken.save()',
    );
  });
});

describe('Session', () => {
  test('a new one has the ids that we give it; one that was read keeps its own', () => {
    const session = new hooked.Session();
    expect(session.new).toBe(true);
    expect(session.uid).toHaveLength(22);
    expect(session.jti.startsWith(session.uid)).toBe(true);
    expect(new hooked.Session({ uid: 'u', jti: 'j' })).toMatchObject({ uid: 'u', jti: 'j' });
  });

  test('a new identifier keeps the uid, and leaves nothing to destroy', () => {
    const session = new hooked.Session();
    const { uid, jti } = session;
    session.resetIdentifier();
    expect(session.jti.startsWith(uid)).toBe(true);
    expect(session.jti).not.toBe(jti);
    expect(session).toMatchObject({ uid, touched: true });
    expect(session.oldId).toBeUndefined();
    expectInOrder('models/session.js', 'async save(ttl)', 'if (this.oldId)', 'this.touched = false');
    expectInOrder('actions/authorization/resume.js', 'if (!session.new)', 'session.resetIdentifier()');
  });

  test('after the response it is saved, and its cookie set, when it is not new or was touched', () => {
    expectInOrder(
      'shared/session.js',
      "case 'touched'",
      '(!ctx.oidc.session.new || ctx.oidc.session.touched) && !ctx.oidc.session.destroyed',
      'ctx.oidc.cookies.set(',
      'await ctx.oidc.session.save(ttl)',
    );
  });
});

describe('Client', () => {
  test('subjectType is assigned, so an accessor of the prototype answers instead', async () => {
    expectInOrder('models/client.js', 'constructor(metadata', 'Object.assign(this, mapKeys(schema');
    const [one, other] = [await hooked.Client.find('public'), await hooked.Client.find('sector')];
    expect([one.subjectType, other.subjectType]).toEqual(['pairwise', 'pairwise']);
    expect(Object.hasOwn(one, 'subjectType')).toBe(false);
    expect([isPairwise(one), isPairwise(other)]).toEqual([false, true]);
    expect((await bare.Client.find('public')).subjectType).toBe('public');
  });

  test('includeSid and compareClientSecret are methods of the prototype, called where a sid and a secret matter', async () => {
    for (const name of ['includeSid', 'compareClientSecret']) expect(bare.Client.prototype).toHaveProperty(name, expect.any(Function));
    expectInOrder('helpers/process_response_types.js', 'ctx.oidc.client.includeSid()');
    expectInOrder('shared/client_auth.js', 'await ctx.oidc.client.compareClientSecret(clientSecret)');
    const client = await hooked.Client.find('public');
    expect(client.includeSid()).toBe(true);
    expect([client.compareClientSecret('right'), client.compareClientSecret('s')]).toEqual([true, false]);
  });

  test('find is a static of its own that everybody calls on the class; ours builds once for each record', async () => {
    expect(Object.getOwnPropertyDescriptor(bare.Client, 'find')).toMatchObject({ writable: true, value: expect.any(Function) });
    expectInOrder('shared/client_auth.js', 'await provider.Client.find(clientId)');
    expectInOrder('actions/authorization/client.js', 'Client.find(');
    expect(await hooked.Client.find('public')).toBe(await hooked.Client.find('public'));
    expect(recordOf(await hooked.Client.find('public'))).toBe(records.get('public'));
    expect(await hooked.Client.find('nobody')).toBeUndefined();
  });
});

describe('ID token hints', () => {
  test('validate is a static of two arguments, called on the class at authorize and at end session', async () => {
    expect(Object.getOwnPropertyDescriptor(bare.IdToken, 'validate')).toMatchObject({ writable: true, value: expect.any(Function) });
    expect(bare.IdToken.validate).toHaveLength(2);
    expectInOrder('actions/end_session.js', 'ctx.oidc.provider.IdToken.validate(params.id_token_hint, client)');
    expect(source('actions/authorization/claims.js')).toMatch(/IdToken\.validate\(/);
    const header = Buffer.from('{"alg":"RS256","typ":"logout+jwt"}').toString('base64url');
    await expect(hooked.IdToken.validate(`${header}.e30.x`, await hooked.Client.find('public'))).rejects.toThrow('not an ID token');
  });

  test('an ID token is issued without typ, and of the others only userinfo and authorization responses; oidc-provider adds no sid to any', () => {
    const text = source('models/id_token.js').split('async issue(')[1] ?? '';
    const uses = [...text.matchAll(/case '(\w+)':([\s\S]*?)break;/g)].map(([, use, body = '']) => [use, /typ: '([^']+)'/.exec(body)?.[1]]);
    expect(uses).toEqual([
      ['idtoken', undefined],
      ['logout', 'logout+jwt'],
      ['userinfo', undefined],
      ['introspection', 'token-introspection+jwt'],
      ['authorization', undefined],
    ]);
    expect(text).not.toMatch(/\bsid\b/);
  });
});

describe('the request', () => {
  test.each(['protocol', 'secure', 'host', 'hostname', 'origin', 'href', 'ip'])(
    '%s is read from the app’s own request prototype',
    (name) => {
      expect(Object.getOwnPropertyDescriptor(Object.getPrototypeOf(bare.request), name)?.get).toEqual(expect.any(Function));
      expect(Object.getOwnPropertyDescriptor(hooked.request, name)?.get).toEqual(expect.any(Function));
      expect(Object.getOwnPropertyDescriptor(bare.request, name)).toBeUndefined();
    },
  );

  test('its host is the issuer’s whatever the headers say', () => {
    const { request } = hooked.createContext(
      { headers: { host: 'evil.example', 'x-forwarded-proto': 'http' }, url: '/x', method: 'GET', socket: {} } as never,
      {} as never,
    );
    expect([request.host, request.protocol, request.secure, request.ip]).toEqual(['op.example', 'https', true, '192.0.2.1']);
    expect(request.href.startsWith(`${issuer}/`)).toBe(true);
  });
});

describe('steps', () => {
  test('the last step of an end-session confirmation ends the session, by oidc.params and session.state', () => {
    expect((confirm.at(-1) as { name: string }).name).toBe('endSession');
    expectInOrder(
      'actions/end_session.js',
      'async function endSession(ctx)',
      'const { oidc: { session, params } } = ctx',
      'const { state } = session',
      'if (params.logout)',
      'await session.destroy()',
      "emit('end_session.success', ctx)",
    );
  });

  test('the end of a session is told by Client.prototype.backchannelLogout, which is ours and calls nobody', async () => {
    expectInOrder(
      'actions/end_session.js',
      'client.backchannelLogout(accountId, sid)',
      'await Promise.all(back)',
      'await session.destroy()',
    );
    const client = await hooked.Client.find('public');
    client.backchannelLogoutUri = 'https://rp.example/logout';
    expect(String(client.backchannelLogout)).not.toContain('fetch');
    expect(await client.backchannelLogout('account', 'sid')).toBeUndefined();
  });

  test('a logout token is an ID token issued for that use, with the claims that are set on it', async () => {
    expectInOrder('models/client.js', "'http://schemas.openid.net/event/backchannel-logout'", "logoutToken.issue({ use: 'logout' })");
    const jwt = await logoutToken(hooked, await hooked.Client.find('sector'), { sub: 'as it is', sid: 'session' });
    expect(decodeProtectedHeader(jwt)).toMatchObject({ typ: 'logout+jwt', alg: 'RS256' });
    const { exp = 0, iat = 0, ...claims } = decodeJwt(jwt);
    expect(exp - iat).toBe(120);
    expect(claims).toEqual({
      iss: issuer,
      aud: 'sector',
      sub: 'as it is',
      sid: 'session',
      jti: expect.any(String),
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    });
  });

  test('authorization.success hands over what is about to be sent', () => {
    expectInOrder(
      'actions/authorization/respond.js',
      "ctx.oidc.provider.emit('authorization.success', ctx, out)",
      'await handler(ctx, params.redirect_uri, omitBy(out',
    );
  });

  test('validators of extraParams run after every other check of the request', () => {
    const steps =
      source('actions/authorization/index.js')
        .match(/^ {2}use\((\w+),/gm)
        ?.map((line) => line.slice(6, -1)) ?? [];
    expect(steps.indexOf('checkExtraParams')).toBeGreaterThan(0);
    const checks = steps.filter((step) => /^check(?!Resource)/.test(step));
    expect(checks.at(-1)).toBe('checkExtraParams');
    expect(steps.indexOf('checkExtraParams')).toBeLessThan(steps.indexOf('interactions'));
  });

  test('a pushed request is spent where the response is made', () => {
    expectInOrder(
      'actions/authorization/respond.js',
      'pushedAuthorizationRequest?.consumed',
      'await pushedAuthorizationRequest?.consume()',
      'processResponseTypes(ctx)',
    );
  });
});

test('the key store of a client with a jwks_uri is filled by `refresh`, which is asked when it is not fresh', async () => {
  expectInOrder(
    'models/client.js',
    'class ClientKeyStore extends KeyStore',
    'get jwksUri()',
    'fresh()',
    'this.freshUntil > now',
    'add(key)',
    'async refresh()',
    'if (this.fresh()) return',
    'this.freshUntil = ',
    'this.clear()',
  );
  expectInOrder('models/id_token.js', 'await client.asymmetricKeyStore.refresh()', 'client.asymmetricKeyStore.selectForEncrypt');
  const { asymmetricKeyStore: store } = await hooked.Client.find('keys');
  keysThere = [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid: 'there' }];
  expect([store.fresh(), [...store]]).toEqual([false, []]);
  await store.refresh();
  expect([store.fresh(), [...store]]).toEqual([true, keysThere]);
  keysThere = [];
  await store.refresh();
  expect([...store]).toHaveLength(1);
  const { asymmetricKeyStore: without } = await hooked.Client.find('sector');
  expect(without.fresh()).toBe(true);
});

test('what a client signed is verified with its asymmetricKeyStore, which is refreshed; times are checked', () => {
  expectInOrder(
    'helpers/jwt.js',
    'export async function verify(jwt, keystore, options = {})',
    'keystore.selectForVerify(',
    'await keystore.refresh()',
    'assertPayload(payload, options)',
    'return { payload, header: protectedHeader }',
  );
  expectInOrder('actions/authorization/process_request_object.js', 'JWT.verify(params.request, client.asymmetricKeyStore, opts)');
});

test('a hint is validated where the request comes in, and not where it is resumed', () => {
  expectInOrder('actions/authorization/index.js', 'use(checkIdTokenHint, ', 'A, DA, ', 'PAR');
  expect(source('actions/authorization/index.js')).toMatch(/use\(checkIdTokenHint, +A, DA, +PAR +\);/);
  expectInOrder('actions/authorization/claims.js', "ctx.oidc.entity('IdTokenHint', idTokenHint)");
});

describe('implicit and hybrid flows', () => {
  const implicit = { responseTypes: ['code', 'id_token token'] } as const;
  const client = { client_id: 'i', grant_types: ['implicit'], token_endpoint_auth_method: 'none' };

  test('the constructor refuses `token` alone; the configuration inside takes it, and its handler is there', async () => {
    expect(() => new Provider(issuer, { ...configuration(), responseTypes: ['token' as never] })).toThrow('unsupported response type');
    expect(insideOf(new Provider(issuer, { ...configuration(), ...implicit })).configuration.responseTypes).toEqual([
      'code',
      'id_token token',
    ]);
    expect(insideOf(createHookedProvider(issuer, { ...configuration(), ...implicit }, hooks)).configuration.responseTypes).toContain(
      'token',
    );
    expect(insideOf(hooked).configuration.responseTypes).not.toContain('token');
    expectInOrder('helpers/process_response_types.js', 'async function tokenHandler(ctx)', "case 'token':", 'return tokenHandler(ctx)');
    expectInOrder(
      'actions/authorization/response_parameters.js',
      'configuration.responseTypes',
      'supported.includes(params.response_type)',
    );
    expectInOrder('helpers/client_schema.js', 'response_types: () => configuration.responseTypes');
  });

  test('a client with redirect URIs by http is refused with a code; where it may be local, only elsewhere', async () => {
    expectInOrder('helpers/client_schema.js', "'implicit-force-https'", "'implicit-forbid-localhost'");
    const settings = { ...configuration(), ...implicit };
    const build = (mayBeLocal: boolean, ...uris: string[]) => {
      const provider = createHookedProvider(issuer, settings, { ...hooks, clients: { ...hooks.clients, mayBeLocal } });
      return new (provider.Client as Untyped)({ ...client, response_types: ['token'], redirect_uris: uris });
    };
    expect(build(true, 'http://localhost:8080/', 'https://localhost/', 'http://127.0.0.1/')).toMatchObject({ clientId: 'i' });
    expect(() => build(true, 'http://localhost/', 'http://rp.example/')).toThrow('invalid_');
    for (const uri of ['http://localhost/', 'https://localhost/']) expect(() => build(false, uri)).toThrow('invalid_');
  });

  test('a signed response is what an IdToken issues for `authorization`', () => {
    expectInOrder(
      'response_modes/jwt.js',
      'new IdToken({}, { ctx })',
      'token.extra = payload',
      "await token.issue({ use: 'authorization' })",
      'modes[mode](ctx, redirectUri, { response })',
    );
    expectInOrder(
      'models/id_token.js',
      'this.extra',
      'async issue(',
      'await this.payload()',
      "case 'authorization':",
      'audience: client.clientId',
      'issuer: provider.issuer',
      'noIat: true',
    );
  });
});

describe('in a running service', () => {
  const service = useIdp();

  test('the hooks are the ones that run', async () => {
    const response = await fetch(`${service.issuer}/connect/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=client_credentials&client_id=service&client_secret=service-secret',
    });
    expect(((await response.json()) as { access_token: string }).access_token).toMatch(/^[\w-]{11}c[\w-]{32}$/);
  });
});
