import { describe, expect, test } from '@jest/globals';
import Provider from 'oidc-provider';
import { get as insideOf } from 'oidc-provider/lib/helpers/weak_cache.js';
import { createHookedProvider } from '../../../lib/oidc/upstream/provider.js';
import { useIdp } from '../../support/service/use-idp.js';
import { bare, clock, configuration, expectInOrder, hooked, hooks, issuer, source, type Untyped, version } from './pinned.js';

const implicit = { responseTypes: ['code', 'id_token token'] } as const;

test('oidc-provider is the version that this was written for', () => {
  expect(version).toMatch(/^9\.13\./);
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

test('the constructor refuses `token` alone; the configuration inside takes it, and its handler is there', async () => {
  expect(() => new Provider(issuer, { ...configuration(), responseTypes: ['token' as never] })).toThrow('unsupported response type');
  expect(insideOf(new Provider(issuer, { ...configuration(), ...implicit })).configuration.responseTypes).toEqual([
    'code',
    'id_token token',
  ]);
  expect(insideOf(createHookedProvider(issuer, { ...configuration(), ...implicit }, hooks)).configuration.responseTypes).toContain('token');
  expect(insideOf(hooked).configuration.responseTypes).not.toContain('token');
  expectInOrder(
    'helpers/process_response_types.js',
    'async function tokenHandler(ctx)',
    "case 'token':",
    'return tokenHandler(ctx)',
    'default:',
    'return {};',
  );
  expectInOrder('actions/authorization/response_parameters.js', 'configuration.responseTypes', 'supported.includes(params.response_type)');
  expectInOrder('helpers/client_schema.js', 'response_types: () => configuration.responseTypes');
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

test('L6: clockTolerance is read from the configuration with each check, and grows by as much as the clock of the node is off', () => {
  expectInOrder('shared/jwt_client_auth.js', 'clockTolerance,', '} = instance(ctx.oidc.provider).configuration');
  expectInOrder('actions/authorization/process_request_object.js', 'clockTolerance: configuration.clockTolerance');
  expectInOrder('models/formats/opaque.js', 'clockTolerance: configuration.clockTolerance');
  const { configuration: own } = insideOf(hooked);
  const real = clock.now;
  try {
    clock.now = () => Date.now() - 20_000;
    expect(own.clockTolerance).toBe(insideOf(bare).configuration.clockTolerance + 20);
    clock.now = () => Date.now() + 20_000;
    expect(own.clockTolerance).toBe(insideOf(bare).configuration.clockTolerance + 20);
  } finally {
    clock.now = real;
  }
});
