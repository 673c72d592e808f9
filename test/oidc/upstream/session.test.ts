import { describe, expect, test } from '@jest/globals';
import { confirm } from 'oidc-provider/lib/actions/end_session.js';
import { expectInOrder, hooked } from './pinned.js';

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

  test('what the cookie names is looked up by find, and saved under whatever identifier it has by then', () => {
    expectInOrder('models/session.js', 'static async get(ctx)', 'session = await this.find(cookieSessionId)', 'this.instantiate({})');
    expectInOrder('models/session.js', 'static async findByUid(uid)', 'this.adapter.findByUid(uid)', 'this.instantiate(payload)');
    expectInOrder(
      'shared/session.js',
      'await ctx.oidc.provider.Session.get(ctx)',
      'ctx.oidc.session.id',
      'await ctx.oidc.session.save(ttl)',
    );
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
