import { expect, test } from '@jest/globals';
import { errors } from 'oidc-provider';
import { answerOf } from '../../../lib/oidc/upstream/errors.js';
import { expectInOrder } from './pinned.js';

test('an error that is for callers is answered with its members, every other with none', () => {
  expect(answerOf(new errors.InvalidScope('none of these', 'a b'))).toEqual({
    status: 400,
    body: { error: 'invalid_scope', error_description: 'none of these', scope: 'a b' },
  });
  expect(answerOf(new errors.InvalidToken('the detail'))).toEqual({
    status: 401,
    body: { error: 'invalid_token', error_description: 'invalid token provided' },
  });
  expect(answerOf(new Error('a secret'))).toMatchObject({ status: 500, body: { error: 'server_error' } });
  expect(JSON.stringify(answerOf(new Error('a secret')))).not.toContain('a secret');
});

test('shared/error_handler.js answers both', () => {
  expectInOrder('shared/error_handler.js', 'const out = errOut(err);', 'ctx.status = err.statusCode || 500;', 'ctx.body = out;');
});
