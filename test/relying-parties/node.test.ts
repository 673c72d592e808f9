/** Applications that are made with libraries for Node: docs/connect-an-application.md. */
import { describe, test } from '@jest/globals';
import { startBlock, trySignIn } from './sign-in.js';

describe('relying parties in Node', () => {
  test('Auth.js', () =>
    trySignIn('Auth.js', {
      callback: '/auth/callback/tenant-idp',
      start: startBlock,
      open: async (agent, origin) => agent.submit(await agent.get(`${origin}/auth/signin`), {}),
      shown: ({ body }) => (JSON.parse(body) as { user: object }).user,
    }));

  const passport = {
    callback: '/cb',
    start: (place: Parameters<typeof startBlock>[0]) => startBlock(place, 'dist/test/relying-parties/passport.js'),
    claims: { displayName: 'Alice Adams', emails: [{ value: 'alice@acme.test' }] },
  };

  test('passport-openidconnect', () => trySignIn('passport-openidconnect', passport));

  test('passport-openidconnect by its README, which sends neither PKCE nor a nonce', () =>
    trySignIn('passport-openidconnect', {
      ...passport,
      change: (block) => block.replace(/^.*nonce: .*\n/m, ''),
      sends: { pkce: false, nonce: false },
    }));
});
