import { describe, expect, test } from '@jest/globals';
import { bare, expectInOrder, hooked, issuer, source, type Untyped } from './pinned.js';

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
    context.afterRequestObject((params: Untyped) => Object.assign(params, { state: `${params.state}, rewritten` }));
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
    ctx._matchedRouteName = 'introspection';
    ctx.oidc = new hooked.OIDCContext(ctx);
    expect([...ctx.oidc.clientJwtAuthExpectedAudience()]).toEqual([issuer, 'of introspection']);
  });
});
