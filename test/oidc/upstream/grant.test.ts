import { expect, test } from '@jest/globals';
import { expectInOrder, hooked } from './pinned.js';

test('the scope of every token, and the claims of userinfo, are what `getOIDCScopeFiltered` answers', () => {
  expectInOrder('helpers/grant_common.js', 'grant.getOIDCScopeFiltered(');
  expectInOrder('helpers/grant_authorization.js', 'token.scope = grant.getOIDCScopeFiltered(');
  expectInOrder('actions/grants/refresh_token.js', 'at.scope = grant.getOIDCScopeFiltered(');
  expectInOrder('helpers/process_response_types.js', 'token.scope = grant.getOIDCScopeFiltered(', 'ctx.oidc.grant.getOIDCScopeFiltered(');
  expectInOrder('actions/userinfo.js', 'ctx.oidc.grant.getOIDCScopeFiltered(');
  // Without a client, and outside of requests, the grant keeps all its scopes.
  const grant = new hooked.Grant({ clientId: 'public', accountId: 'x' });
  grant.addOIDCScope('openid other');
  expect(grant.getOIDCScopeFiltered(new Set(['openid', 'other']))).toBe('openid other');
});
