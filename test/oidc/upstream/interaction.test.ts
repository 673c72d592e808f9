import { describe, expect, test } from '@jest/globals';
import { expectInOrder, hooked } from './pinned.js';

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
