/** Each difference between the service and oidc-provider by itself has a reason, in one table that is compared with the decisions. */
import { describe, expect, test } from '@jest/globals';
import { compareWithBare, differenceProblems, differences, type Seen } from '../support/requests/bare-differences.js';
import { pageAt } from './pages.js';

const decided = pageAt('docs/decisions.md').table('Differences from oidc-provider', 'Request');

test('the differences that the comparison allows are those that were decided', () => {
  expect(differenceProblems(differences, decided)).toEqual([]);
});

test('a difference that nobody decided, one that is not compared, and one that is there twice are told', () => {
  const row = (what: string) => ({ what, ours: '`a`', bare: 'b', reason: 'c' });
  const decided = ['b', 'c'].map((what) => [what, 'a', 'b', 'c']);
  expect(differenceProblems([row('a'), row('b'), row('b')], decided)).toEqual([
    'nobody decided: a | a | b | c',
    'decided, and not compared: c | a | b | c',
    'twice: b | a | b | c',
  ]);
});

describe('what no row speaks of is told', () => {
  const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
  const token = {
    access_token: 'a new access_token',
    refresh_token: 'a new refresh_token',
    id_token: { sub: 'a', aud: 'web' },
    scope: 'openid',
  };
  const bare: Seen = { status: 200, headers, body: token };
  const refused: Seen = { status: 400, headers, body: { error: 'invalid_grant', error_description: 'grant request is invalid' } };
  const code = 'grant_type=authorization_code&code=x';

  test.each<[string, string, string, Seen, Seen]>([
    ['another subject', '/connect/token', code, { ...bare, body: { ...token, id_token: { ...token.id_token, sub: 'b' } } }, bare],
    ['a scope more', '/connect/token', code, { ...bare, body: { ...token, scope: 'openid profile' } }, bare],
    ['no refresh token', '/connect/token', code, { ...bare, body: { ...token, refresh_token: undefined } }, bare],
    ['a code that is refused and is taken', '/connect/token', code, bare, refused],
    ['a code that is taken and is refused', '/connect/token', code, refused, bare],
    ['another error', '/connect/token', code, { ...refused, body: { error: 'invalid_request' } }, refused],
    ['another claim', '/connect/userinfo', '', { ...bare, body: { sub: 'b' } }, { ...bare, body: { sub: 'a' } }],
    ['an answer that is cached', '/connect/userinfo', '', { ...bare, headers: { ...headers, 'cache-control': 'public' } }, bare],
    [
      'a token that is inactive',
      '/connect/introspect',
      'token=x',
      { ...bare, body: { active: false } },
      { ...bare, body: { active: true, client_id: 'web' } },
    ],
    [
      'another subject of a token',
      '/connect/introspect',
      'token=x',
      { ...bare, body: { active: true, sub: 'b' } },
      { ...bare, body: { active: true, sub: 'a' } },
    ],
  ])('%s', (_what, path, body, ours, theirs) => {
    const request = { method: 'POST', path, headers: {}, body };
    const asked = { request, form: new URLSearchParams(body), caller: 'web', isStopped: () => false };
    expect(compareWithBare(theirs, theirs, asked)).toEqual({ rest: [], rows: [] });
    expect(compareWithBare(ours, theirs, asked).rest).not.toEqual([]);
  });
});
