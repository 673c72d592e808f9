import { expect, test } from '@jest/globals';
import { get as insideOf } from 'oidc-provider/lib/helpers/weak_cache.js';
import { expectInOrder, hooked } from './pinned.js';

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

test('a step of that name authenticates the client at each endpoint that has clients authenticate', () => {
  for (const action of ['introspection', 'revocation']) expectInOrder(`actions/${action}.js`, 'export default [', '...clientAuth,', '];');
  expectInOrder(
    'actions/authorization/index.js',
    'for (const clientAuthMiddlware of clientAuth)',
    'use(clientAuthMiddlware,',
    'use(authenticatedClientId,',
  );
});

test('the backchannel authentication endpoint reads its parameters after the client authenticated, by a step of a name', () => {
  expectInOrder(
    'actions/authorization/index.js',
    'for (const clientAuthMiddlware of clientAuth)',
    'use(authenticatedClientId,                    DA,                 BA);',
    'use(assembleAuthorizationParams,           A, DA,            PAR, BA);',
  );
  expectInOrder('actions/authorization/request_parameters.js', 'export function assembleAuthorizationParams(ctx, next)');
  expectInOrder('helpers/initialize_app.js', "error('backchannel_authentication.error'), ...ciba)");
});

test('what answers at the end of an endpoint is its last step, by a name', () => {
  expectInOrder('actions/introspection.js', 'export default [', 'async function renderTokenResponse(ctx) {', '},\n];');
  expectInOrder('actions/revocation.js', 'export default [', 'async function revokeToken(ctx) {', '},\n];');
  expectInOrder(
    'actions/authorization/pushed_authorization_requests.js',
    'export async function pushedAuthorizationRequestResponse(ctx) {',
  );
  expectInOrder(
    'actions/authorization/index.js',
    'use(checkExtraParams,                      A, DA,            PAR, BA);',
    'use(pushedAuthorizationRequestResponse,                      PAR    );',
  );
  expectInOrder('actions/userinfo.js', 'loadAccessTokenGrant,', 'async function respond(ctx) {', '},\n];');
  expectInOrder(
    'helpers/initialize_app.js',
    'router.get(name, route, ensureOIDC, ensureSessionSave, ...stack)',
    'router.post(name, route, ensureOIDC, ensureSessionSave, ...stack)',
    "get('userinfo', ",
    "post('userinfo', ",
    "post('revocation', ",
    "post('introspection', ",
  );
});

test('a step that a bundler renamed is refused, and the error says what a bundler has to do', () => {
  const { router } = insideOf(hooked);
  const renamed = async (): Promise<void> => {};
  expect(() => router.post('introspection', '/renamed', renamed)).toThrow(
    'Install its required version, and leave it out of the bundle or keep the names of functions.',
  );
});
