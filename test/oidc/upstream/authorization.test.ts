import { describe, expect, test } from '@jest/globals';
import { expectInOrder, source } from './pinned.js';

describe('the plain door runs what the authorization endpoint runs', () => {
  const stepsOf = (endpoint: string): readonly string[] =>
    [...source('actions/authorization/index.js').matchAll(/^ {2,4}use\((\w+), +(.*?)\);$/gm)].flatMap(([, step = '', at = '']) =>
      at.split(/[ ,]+/).includes(endpoint) ? step : [],
    );

  test('its steps are these, in this order: none is new, and none is elsewhere', () => {
    expect(stepsOf('A').join(' ')).toBe(
      'noCache sessionMiddleware parseBody assembleAuthorizationParams rejectAuthorizationDupes rejectUnsupported checkClient ' +
        'loadPushedAuthorizationRequest processRequestObject checkResponseMode oneRedirectUriClients oauthRequired rejectRegistration ' +
        'checkResponseType oidcRequired assignDefaults checkPrompt checkScope checkOpenidScope checkRedirectUri checkPKCE checkClaims ' +
        'checkRar checkResource checkMaxAge checkIdTokenHint checkExtraParams interactionEmit assignClaims loadAccount loadGrant ' +
        'interactions respond',
    );
  });

  test('the steps of a pushed request are these', () => {
    expect(stepsOf('PAR').join(' ')).toBe(
      'noCache parseBody assembleClientAuthParams assembleAuthorizationParams rejectAuthorizationDupes ' +
        'rejectUnsupported stripOutsideJarParams pushedAuthorizationRequestRemapErrors processRequestObject checkResponseMode ' +
        'oneRedirectUriClients oauthRequired rejectRegistration checkResponseType oidcRequired checkPrompt checkScope checkOpenidScope ' +
        'checkRedirectUri checkPKCE checkClaims checkRar checkResource checkMaxAge checkIdTokenHint checkDpopJkt checkExtraParams ' +
        'pushedAuthorizationRequestResponse',
    );
    expectInOrder(
      'helpers/initialize_app.js',
      "error('pushed_authorization_request.error'), CORS.clientWithDPoP, ...pushedAuthorizationRequests",
    );
  });

  test('a code has these members', () => {
    const made =
      /new ctx\.oidc\.provider\.AuthorizationCode\(\{([\s\S]*?)\}\)/.exec(source('helpers/process_response_types.js'))?.[1] ?? '';
    expect([...made.matchAll(/^ +(\w+):/gm)].map(([, name]) => name).join(' ')).toBe(
      'accountId acr amr authTime claims client codeChallenge codeChallengeMethod grantId nonce redirectUri resource scope sessionUid dpopJkt',
    );
    expectInOrder(
      'helpers/process_response_types.js',
      'persistsLogout = true',
      'code.sid = ctx.oidc.session.sidFor(',
      'code.rar =',
      'await code.save()',
    );
    expectInOrder('helpers/combined_scope.js', 'grant.getOIDCScopeFiltered(requestParamScopes)');
    expectInOrder('models/base_token.js', 'positiveInteger(ttl(...args), path)');
  });

  test('around them are the context, the session of an answered request and the answers of errors', () => {
    expectInOrder('helpers/router.js', 'ctx._matchedRouteName = matched.route.name');
    expectInOrder(
      'helpers/initialize_app.js',
      "Object.defineProperty(ctx, 'oidc', {",
      'new this.OIDCContext(ctx)',
      'als.run(ctx, () => next())',
    );
    expectInOrder(
      'helpers/initialize_app.js',
      'ensureOIDC, ensureSessionSave, ...stack',
      "get('authorization', routes.authorization, authError, ...authorization)",
    );
    // A session that was saved with its cookie is not written again.
    expectInOrder('helpers/initialize_app.js', 'async function ensureSessionSave', 'session?.touched', 'session.persist()');
    expectInOrder('models/session.js', 'async persist()', 'return this.save(');
    expectInOrder('helpers/als.js', 'new AsyncLocalStorage()');
    expectInOrder('shared/authorization_error_handler.js', 'authorizationErrorHandler(ctx, next)', 'await next()', 'catch (caught)');
    expectInOrder('shared/no_cache.js', "ctx.set('cache-control', 'no-store')");
    expectInOrder('shared/assemble_params.js', 'ctx.oidc.params = new Params(allowList, params)');
    expectInOrder('helpers/params.js', 'this[prop] = params[prop] || undefined');
  });

  test('steps that are left out do nothing without their parameters', () => {
    for (const name of ['claims', 'max_age', 'id_token_hint', 'registration', 'authorization_details', 'request'])
      expect(
        ['request_parameters', 'claims', 'process_request_object'].map((file) => source(`actions/authorization/${file}.js`)).join('') +
          source('shared/check_rar.js'),
      ).toMatch(new RegExp(`params\\.${name} (!==|===) undefined`));
    expectInOrder(
      'actions/authorization/process_request_object.js',
      'client.requirePushedAuthorizationRequests',
      'client.requireSignedRequestObject',
      'return next()',
    );
    expectInOrder(
      'actions/authorization/pushed_authorization_requests.js',
      'async function loadPushedAuthorizationRequest',
      'params.request_uri !== undefined',
      'pushedAuthorizationRequest.request',
      'return next()',
    );
    expectInOrder(
      'actions/authorization/request_parameters.js',
      'function rejectUnsupported',
      'params.request !== undefined',
      'params.request_uri !== undefined',
      'params.web_message_uri',
      'return next()',
    );
    expectInOrder('actions/authorization/interactions.js', 'function interactionEmit', 'resumeRoutes.has(', "emit('interaction.ended'");
    expectInOrder('actions/authorization/response_parameters.js', 'allowOmittingSingleRegisteredRedirectUri', 'return next()');
  });

  test('the session and its cookie', () => {
    expectInOrder(
      'models/session.js',
      'static async get(ctx)',
      'cookies.get(',
      'cookies.long',
      'session = await this.find(cookieSessionId)',
      "ctx.oidc.entity('Session', session)",
    );
    expectInOrder(
      'shared/session.js',
      'cookies.set(',
      'configuration.cookies.long',
      'await ctx.oidc.session.save(ttl)',
      '!ctx.oidc.session.transient',
      'ctx.oidc.session.exp',
      'ary[index] += `; expires=',
      'new Date(ctx.oidc.session.exp * 1000).toUTCString()',
    );
  });

  test('the grant, the prompts and the response', () => {
    expectInOrder(
      'actions/authorization/session.js',
      'findAccount(ctx, accountId)',
      "ctx.oidc.entity('Account', account)",
      'await loadExistingGrant(ctx)',
      'ensureClientContainer(',
      'grantIdFor(',
      "ctx.oidc.entity('Grant', grant)",
    );
    expectInOrder(
      'actions/authorization/interactions.js',
      'of policy)',
      'await Promise.all([...checks]',
      'getOIDCScopeFiltered(oidc.requestParamOIDCScopes)',
      'await next()',
    );
    expectInOrder(
      'actions/authorization/respond.js',
      'await pushedAuthorizationRequest?.consume()',
      'processResponseTypes(ctx)',
      "emit('authorization.success', ctx, out)",
      'await handler(',
    );
  });
});
