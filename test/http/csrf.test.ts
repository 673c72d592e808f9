import { createSecretKey } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { Context } from 'koa';
import { createCsrf } from '../../lib/http/requests/csrf.js';

const origin = 'https://login.example.com';
const key = createSecretKey(Buffer.alloc(32, 7));
const browserOf = (ctx: Context) => ctx.get('browser') || undefined;
const browsers = { browserOf, begin: (ctx: Context) => browserOf(ctx) as string };
const csrf = createCsrf(key, origin, browsers);
const request = (headers: Record<string, string> = {}) =>
  ({ get: (name: string) => headers[name.toLowerCase()] ?? '' }) as unknown as Context;
const token = csrf.token(request(), 'uid');

test.each([
  ['nothing but the token', {}],
  ['of this origin', { origin, 'sec-fetch-site': 'same-origin' }],
  // A page with `Referrer-Policy: no-referrer` posts the origin `null`. @see Fetch §3.2
  ['an opaque origin', { origin: 'null', 'sec-fetch-site': 'same-origin' }],
])('design §6 CSRF: accepts %s', (_, headers) => {
  expect(csrf.check(request(headers), 'uid', token)).toBe(true);
});

test.each([
  ['another site', { 'sec-fetch-site': 'cross-site' }],
  ['a sibling site', { 'sec-fetch-site': 'same-site' }],
  ['a typed address', { 'sec-fetch-site': 'none' }],
  ['another origin', { origin: 'https://evil.test' }],
  ['the origin by http', { origin: 'http://login.example.com' }],
  ['the origin at another port', { origin: `${origin}:8443` }],
  ['an opaque origin from another site', { origin: 'null', 'sec-fetch-site': 'cross-site' }],
])('design §6 CSRF: refuses a right token from %s', (_, headers) => {
  expect(csrf.check(request(headers), 'uid', token)).toBe(false);
});

test.each([
  ['none', undefined],
  ['empty', ''],
  ['cut', token.slice(1)],
  ['longer', `${token}A`],
  ['a list', [token]],
  ['of another sign-in', csrf.token(request(), 'other')],
  ['under another key', createCsrf(createSecretKey(Buffer.alloc(32, 8)), origin, browsers).token(request(), 'uid')],
  ['of another browser', csrf.token(request({ browser: 'b' }), 'uid')],
])('design §6 CSRF: refuses a token that is %s', (_, given) => {
  expect(csrf.check(request(), 'uid', given)).toBe(false);
});
